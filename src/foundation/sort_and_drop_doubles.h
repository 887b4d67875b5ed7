// A vector as a set: in order, each element once.
#pragma once

#include <algorithm>
#include <functional>

namespace naru {

// Of elements that are the same under the projection, any one stays.
template <class Elements, class Projection = std::identity>
void sort_and_drop_doubles(Elements& elements, Projection projection = {}) {
  std::ranges::sort(elements, {}, projection);
  const auto doubles = std::ranges::unique(elements, {}, projection);
  elements.erase(doubles.begin(), doubles.end());
}

}  // namespace naru
