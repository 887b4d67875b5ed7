#include "fuzzing/fuzz_request.h"

#include <array>
#include <tuple>
#include <utility>

#include "fuzzing/answer_lessons.h"
#include "fuzzing/request_filler.h"
#include "fuzzing/request_recipes.h"
#include "kafka_protocol/frame.h"

namespace naru::fuzzing {
namespace {

constexpr std::string_view kClientId = "fuzzer";

// What an API answers when all is well. Those of features that are not there have an error for that; brokers of the
// fuzzer, which run or come back, cannot be unregistered.
constexpr ErrorCode success_of(kafka::ApiKey api) {
  switch (api) {
    case kafka::ApiKey::sasl_handshake:
    case kafka::ApiKey::sasl_authenticate:
      return ErrorCode::illegal_sasl_state;
    case kafka::ApiKey::describe_acls:
    case kafka::ApiKey::create_acls:
    case kafka::ApiKey::delete_acls:
      return ErrorCode::security_disabled;
    case kafka::ApiKey::create_delegation_token:
    case kafka::ApiKey::renew_delegation_token:
    case kafka::ApiKey::expire_delegation_token:
    case kafka::ApiKey::describe_delegation_token:
      return ErrorCode::delegation_token_auth_disabled;
    case kafka::ApiKey::unregister_broker:
      return ErrorCode::invalid_request;
    default:
      return ErrorCode::none;
  }
}

// Walks through a message and keeps what concerns the fuzzer. A visitor of kafka::visit_fields.
class Survey {
 public:
  Survey(int16_t version, std::string_view root, ErrorCode success)
      : version_(version), root_(root), success_(success) {}

  template <class T>
  void field(std::string_view structure, std::string_view name, T& value, bool) {
    if constexpr (IsOptional<T>::value) {
      if (value) field(structure, name, *value, false);
    } else if constexpr (IsVector<T>::value) {
      for (auto& element : value) field(structure, name, element, false);
    } else if constexpr (std::same_as<T, ErrorCode>) {
      note(structure == root_, value);
    } else if constexpr (std::integral<T>) {
      if (name == "timeout_ms" || name == "max_wait_ms" || name == "rebalance_timeout_ms")
        wait_ms_ += std::max<T>(value, 0);
    } else if constexpr (requires { visit_fields(*this, value, version_); }) {
      visit_fields(*this, value, version_);
    }
  }

  Duration wait() const { return Milliseconds(wait_ms_); }
  // Nothing is wrong as a whole, and not everything in detail.
  bool is_success() const { return !failed_as_a_whole_ && (errors_ == 0 || successes_ > 0); }

 private:
  void note(bool of_the_whole, ErrorCode error) {
    // The one: it is as was asked for. The other: the first half of a join.
    const bool done =
        error == success_ || error == ErrorCode::election_not_needed || error == ErrorCode::member_id_required;
    if (done) error = ErrorCode::none;
    if (of_the_whole) {
      failed_as_a_whole_ = failed_as_a_whole_ || error != ErrorCode::none;
    } else {
      ++(error == ErrorCode::none ? successes_ : errors_);
    }
  }

  const int16_t version_;
  const std::string_view root_;
  const ErrorCode success_;
  int64_t wait_ms_ = 0;
  bool failed_as_a_whole_ = false;
  size_t successes_ = 0;
  size_t errors_ = 0;
};

template <class Request, class Response>
class TypedRequest final : public FuzzRequest {
 public:
  TypedRequest(int16_t version, int32_t correlation_id, KnownWorld& world, Random& random, WallTimeMs now_ms,
               const RequestStyle& style) {
    api_ = &kafka::api_row(Request::kApiKey);
    version_ = version;
    correlation_id_ = correlation_id;
    fill(world, random, now_ms, {.large = style.large, .unread = style.unread, .bytes_max = style.bytes_max});
    // One of them may make it large; several would multiply.
    for (uint64_t i = 0; i < style.mutations; ++i) {
      const MutationLimits limits = i == 0 ? style.limits : MutationLimits();
      RequestMutator(world, random, version, arena_, limits).mutate(request_);
    }
    if (encoded_size(request_, version) > style.bytes_max) {
      request_ = Request();
      fill(world, random, now_ms, {});
    }
    Survey survey(version, Request::kName, ErrorCode::none);
    visit_fields(survey, request_, version);
    own_wait_ = survey.wait();
    if constexpr (std::same_as<Request, kafka::ProduceRequest>) may_stay_unanswered_ = request_.acks == 0;
    frame_ = kafka::encode_request_frame(request_, version, correlation_id, kClientId).bytes;
    if (!style.mutate_bytes) return;
    has_changed_bytes_ = true;
    may_stay_unanswered_ = may_stay_unanswered_ || std::same_as<Request, kafka::ProduceRequest>;
    constexpr size_t kFixedHeader = 4 + 2 + 2 + 4 + 2 + kClientId.size();
    mutate_bytes(random, frame_, kFixedHeader + (api_->is_flexible(version) ? 1 : 0));
  }

  std::string to_json() const override { return kafka::to_json(request_, version_); }

  Result<Verdict> take_answer(BytesView answer, KnownWorld& world, BrokerId from) override {
    kafka::WireReader reader(answer);
    Response response;
    const auto header = kafka::decode_response(reader, response, version_);
    NARU_TRY(reader.finish());
    if (header.correlation_id != correlation_id_) {
      return failure(ErrorCode::corrupt_message, "the answer has the correlation id {}, the request {}",
                     header.correlation_id, correlation_id_);
    }
    Survey survey(version_, Response::kName, success_of(Request::kApiKey));
    visit_fields(survey, response, version_);
    if (!has_changed_bytes_) learn(world, from, request_, response);
    return survey.is_success() ? Verdict::success : Verdict::refused;
  }

 private:
  void fill(KnownWorld& world, Random& random, WallTimeMs now_ms, FillStyle style) {
    RequestFiller filler(world, random, Request::kApiKey, version_, arena_, now_ms, style);
    visit_fields(filler, request_, version_);
    arrange(filler, request_);
    target_ = filler.target();
  }

  Arena arena_;
  Request request_;
};

using Make = std::unique_ptr<FuzzRequest> (*)(int16_t, int32_t, KnownWorld&, Random&, WallTimeMs, const RequestStyle&);
struct MakeRow {
  kafka::ApiKey key;
  Make make;
};

template <class Request, class Response>
constexpr MakeRow make_row() {
  static_assert(Request::kApiKey == Response::kApiKey, "the lists of messages have the same order");
  return {Request::kApiKey,
          [](int16_t version, int32_t correlation_id, KnownWorld& world, Random& random, WallTimeMs now_ms,
             const RequestStyle& style) -> std::unique_ptr<FuzzRequest> {
            return std::make_unique<TypedRequest<Request, Response>>(version, correlation_id, world, random, now_ms,
                                                                     style);
          }};
}

using Requests = kafka::AllRequests<std::tuple>;
using Responses = kafka::AllResponses<std::tuple>;

template <size_t... kIndex>
constexpr auto make_rows(std::index_sequence<kIndex...>) {
  std::array rows{make_row<std::tuple_element_t<kIndex, Requests>, std::tuple_element_t<kIndex, Responses>>()...};
  std::ranges::sort(rows, {}, &MakeRow::key);  // as the API table is
  return rows;
}

constexpr auto kMakeRows = make_rows(std::make_index_sequence<std::tuple_size_v<Requests>>());
static_assert(std::ranges::equal(kMakeRows, kafka::kApiTable, {}, &MakeRow::key, &kafka::ApiRow::key));

}  // namespace

std::unique_ptr<FuzzRequest> make_request(size_t api, int16_t version, int32_t correlation_id, KnownWorld& world,
                                          Random& random, WallTimeMs now_ms, const RequestStyle& style) {
  return kMakeRows[api].make(version, correlation_id, world, random, now_ms, style);
}

}  // namespace naru::fuzzing
