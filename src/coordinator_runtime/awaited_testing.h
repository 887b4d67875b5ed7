// For tests: what a coordinator answers, now or later.
#pragma once

#include <memory>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "coordinator_runtime/coordinator_outcome.h"

namespace naru {

// An answer that may not be there yet.
template <class Answer>
class Awaited {
 public:
  bool arrived() const { return answer_->has_value(); }
  const Answer& value() const {
    EXPECT_TRUE(arrived()) << "still parked";
    if (arrived()) EXPECT_TRUE((*answer_)->has_value()) << (*answer_)->error().to_string();
    static const Answer kNone{};
    return arrived() && (*answer_)->has_value() ? ***answer_ : kNone;
  }
  Status failure_status() const { return arrived() && !(*answer_)->has_value() ? (*answer_)->error() : Status(); }

  Reply<Answer> reply() {
    return [answer = answer_](Result<Answer> result) {
      EXPECT_FALSE(answer->has_value()) << "answered twice";
      answer->emplace(std::move(result));
    };
  }

 private:
  std::shared_ptr<std::optional<Result<Answer>>> answer_ = std::make_shared<std::optional<Result<Answer>>>();
};

}  // namespace naru
