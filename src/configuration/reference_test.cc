#include "configuration/reference.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

namespace naru {
namespace {

TEST(ConfigurationReference, TheDocumentIsWhatTheTablesSay) {
  std::ifstream file(NARU_SOURCE_FOLDER "/docs/configuration.md");
  std::stringstream content;
  content << file.rdbuf();
  EXPECT_TRUE(content.str() == render_reference())
      << "docs/configuration.md is older than the tables in src/configuration: ./dev docs writes it anew";
}

}  // namespace
}  // namespace naru
