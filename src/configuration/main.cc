// Prints docs/configuration.md.
#include <cstdio>

#include "configuration/reference.h"

int main() {
  const std::string text = naru::render_reference();
  return std::fwrite(text.data(), 1, text.size(), stdout) == text.size() ? 0 : 1;
}
