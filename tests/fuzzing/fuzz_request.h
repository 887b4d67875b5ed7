// One request of the fuzzer: its bytes, what may be said about its answer, and what the answer teaches.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "foundation/bytes.h"
#include "foundation/status.h"
#include "foundation/time.h"
#include "fuzzing/known_world.h"
#include "fuzzing/request_mutator.h"
#include "kafka_protocol/api_table.h"

namespace naru::fuzzing {

// How a request is made out of a valid one.
struct RequestStyle {
  uint64_t mutations = 0;
  MutationLimits limits;
  bool large = false;
  bool unread = false;          // its client does not read answers
  size_t bytes_max = SIZE_MAX;  // one that becomes larger is sent without mutations
  bool mutate_bytes = false;
};

class FuzzRequest {
 public:
  FuzzRequest() = default;
  virtual ~FuzzRequest() { all_heap_bytes_ -= heap_bytes_; }
  FuzzRequest(const FuzzRequest&) = delete;
  FuzzRequest& operator=(const FuzzRequest&) = delete;

  // What all requests take that exist now: heap that is the fuzzer's, not the brokers'.
  static uint64_t all_heap_bytes() { return all_heap_bytes_; }
  // Once, when it is made.
  void takes_heap(uint64_t bytes) {
    heap_bytes_ = bytes;
    all_heap_bytes_ += bytes;
  }

  const kafka::ApiRow& api() const { return *api_; }
  int16_t version() const { return version_; }
  int32_t correlation_id() const { return correlation_id_; }
  // Whom a well-informed client asks; kNoBroker: anybody.
  BrokerId target() const { return target_; }
  const Bytes& frame() const { return frame_; }
  // How long the broker may take over it because it says so itself.
  Duration own_wait() const { return own_wait_; }
  // acks=0, or what looks like it after its bytes were changed.
  bool may_stay_unanswered() const { return may_stay_unanswered_; }
  bool has_changed_bytes() const { return has_changed_bytes_; }

  virtual std::string to_json() const = 0;

  enum class Verdict : uint8_t { success, refused };
  // Decodes the answer, a frame without its size. Learns from it unless bytes of the request were changed.
  virtual Result<Verdict> take_answer(BytesView answer, KnownWorld& world, BrokerId from) = 0;

 protected:
  const kafka::ApiRow* api_ = nullptr;
  int16_t version_ = 0;
  int32_t correlation_id_ = 0;
  BrokerId target_ = kNoBroker;
  Bytes frame_;
  Duration own_wait_{};
  bool may_stay_unanswered_ = false;
  bool has_changed_bytes_ = false;

 private:
  static inline uint64_t all_heap_bytes_ = 0;
  uint64_t heap_bytes_ = 0;
};

// `api` is an index of kafka::kApiTable.
std::unique_ptr<FuzzRequest> make_request(size_t api, int16_t version, int32_t correlation_id, KnownWorld& world,
                                          Random& random, WallTimeMs now_ms, const RequestStyle& style);

}  // namespace naru::fuzzing
