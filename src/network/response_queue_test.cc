#include "network/response_queue.h"

#include <gtest/gtest.h>

namespace naru {
namespace {

Response marked(std::string_view text) {
  return Response(Bytes(as_bytes(text).begin(), as_bytes(text).end()));
}
std::string text_of(const Response& response) {
  return std::string(as_text(std::get<Bytes>(response.chunks.at(0))));
}

TEST(ResponseQueue, HoldsBackWhatIsFinishedTooEarly) {
  ResponseQueue queue;
  queue.finish(2, marked("c"));
  queue.finish(1, marked("b"));
  EXPECT_FALSE(queue.take_next());
  queue.finish(0, marked("a"));
  EXPECT_EQ(text_of(*queue.take_next()), "a");
  EXPECT_EQ(text_of(*queue.take_next()), "b");
  EXPECT_EQ(text_of(*queue.take_next()), "c");
  EXPECT_FALSE(queue.take_next());
  queue.finish(3, marked("d"));
  EXPECT_EQ(text_of(*queue.take_next()), "d");
}

TEST(ResponseQueue, AnEmptyResponseKeepsItsPlace) {
  ResponseQueue queue;
  queue.finish(1, marked("b"));
  queue.finish(0, Response());
  EXPECT_TRUE(queue.take_next()->chunks.empty());
  EXPECT_EQ(text_of(*queue.take_next()), "b");
}

}  // namespace
}  // namespace naru
