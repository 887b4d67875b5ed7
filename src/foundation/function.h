// A function object that is called once or more and may own things that cannot be copied.
#pragma once

#include <functional>

namespace naru {

template <class Signature>
using UniqueFunction = std::move_only_function<Signature>;

}  // namespace naru
