#include "fuzzing/fuzz_round.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "foundation/endian.h"
#include "fuzzing/heap_meter.h"

namespace naru::fuzzing {
namespace {

using kafka::ApiKey;

constexpr size_t kRecent = 6;
constexpr size_t kShownBytes = 600;
constexpr size_t kShownText = 20'000;
// Beyond what the request itself asks for. Groups wait for members that do not come, for as long as their session
// lasts.
constexpr Duration kAnswerMax = 90s;
constexpr Duration kOwnWaitMax = 100s;
constexpr Duration kConnectMax = 20s;
constexpr uint64_t kRefreshOneIn = 12;
// How long a request waits for a connection to the broker that it is for.
constexpr int kTriesForTarget = 20;
constexpr Duration kBetweenTries = 300us;
constexpr MutationLimits kHuge{.list_max = 500'000, .text_max = 60'000};
constexpr uint64_t kRoomyOneIn = 32;
constexpr size_t kLargeFrame = 64 << 10;
constexpr size_t kLargeOnes = 3;
constexpr int16_t kFindCoordinatorVersion = 4;

FuzzPlan plan_of(const RoundOptions& options, Random& random) {
  FuzzPlan plan = draw_plan(random);
  if (options.focus) plan.focus = options.focus;
  if (options.huge_one_in) plan.huge_one_in = *options.huge_one_in;
  // Of its own, so that the other rounds are those that their seeds have always made.
  SimulatedRandom room(~options.seed);
  plan.roomy = options.roomy || (options.brokers == 1 && room.one_in(kRoomyOneIn));
  return plan;
}

size_t index_of(ApiKey key) {
  return static_cast<size_t>(kafka::find_api(std::to_underlying(key)) - kafka::kApiTable.data());
}

std::string hex(BytesView bytes) {
  std::string text;
  for (const std::byte byte : bytes.first(std::min(bytes.size(), kShownBytes))) {
    text += fmt::format("{:02x}", static_cast<unsigned>(byte));
  }
  return bytes.size() > kShownBytes ? text + fmt::format("... ({} bytes)", bytes.size()) : text;
}

}  // namespace

FuzzRound::FuzzRound(const RoundOptions& options)
    : options_(options),
      random_(options.seed * 2 + 1),
      plan_(plan_of(options, random_)),
      problems_(options.waived),
      world_(options.seed, options.brokers, plan_, problems_, report_) {
  world_.world().network().options.buffer_bytes = plan_.network_buffer;
  const auto add_slot = [this](simulation::SimulatedBroker& broker, bool deaf) {
    slots_.push_back(std::make_unique<Slot>());
    slots_.back()->broker = &broker;
    slots_.back()->deaf = deaf;
  };
  for (const auto& broker : world_.brokers()) {
    for (uint64_t i = 0; i < plan_.connections; ++i) add_slot(*broker, false);
  }
  for (uint64_t i = 0; i < plan_.deaf_connections; ++i) add_slot(*any_of(random_, world_.brokers()), true);
}

FuzzRound::~FuzzRound() = default;

std::optional<std::string> FuzzRound::run() {
  world_.begin();
  send_corpus();
  while (report_.requests < options_.requests && !problems_.first()) act();
  const std::string requests = problems_.first() ? recent_requests() : "";
  if (!problems_.first()) wait_for_answers();
  leave();
  world_.end();
  if (!problems_.first()) return std::nullopt;
  return fmt::format("{}\n  after {} requests; {}\n{}", *problems_.first(), report_.requests, plan_.to_string(),
                     requests);
}

void FuzzRound::send_corpus() {
  for (const Bytes& frame : options_.corpus) {
    Slot slot{.broker = world_.brokers().front().get()};
    connects_.spawn(connect(slot));
    world_.run_until([&slot] { return !slot.connecting; }, kConnectMax);
    if (!slot.connection) continue;
    slot.connection->send(frame);
    world_.run_for(100ms);
    slot.connection->close();
  }
}

void FuzzRound::act() {
  if (plan_.restart_one_in > 0 && random_.one_in(plan_.restart_one_in) && !world_.is_restarting()) {
    world_.restart_one();
  }
  for (const auto& slot : slots_) look_after(*slot);
  const auto is_free = [this](bool deaf) {
    return std::ranges::any_of(slots_, [&](const auto& slot) { return slot->deaf == deaf && can_take(*slot); });
  };
  const bool deaf = random_.one_in(plan_.deaf_one_in) && is_free(true);
  if (!deaf && !is_free(false)) return world_.run_for(200us);
  std::shared_ptr<FuzzRequest> request = draw_request(deaf);
  Slot& slot = choose_slot(request->target(), deaf);
  send(slot, std::move(request));
  let_time_pass();
}

std::shared_ptr<FuzzRequest> FuzzRound::draw_request(bool for_deaf) {
  const bool refresh = known_.image().brokers().empty() || random_.one_in(kRefreshOneIn);
  ApiKey key = refresh ? ApiKey::naru_metadata : draw_api(random_, plan_);
  if (!random_.one_in(16)) key = first_needed(key, known_);
  // A broker that was said to stop leads nothing until it is restarted: a cluster has to live with few of those.
  if (key == ApiKey::naru_broker_stopping && options_.brokers > 1 && !random_.one_in(8)) key = ApiKey::naru_metadata;
  if (for_deaf && random_.one_in(2)) key = ApiKey::fetch;
  const size_t api = index_of(key);
  const kafka::ApiRow& row = kafka::kApiTable[api];
  const auto versions = static_cast<uint64_t>(row.max_version - row.min_version + 1);
  const auto version = static_cast<int16_t>(row.min_version + static_cast<int16_t>(random_.below(versions)));
  RequestStyle style{.unread = for_deaf, .bytes_max = plan_.frame_max()};
  if (!refresh && random_.one_in(plan_.mutated_one_in)) {
    style.mutations = 1 + random_.below(3);
    style.large = plan_.huge_one_in > 0 && random_.one_in(plan_.huge_one_in);
    if (style.large) style.limits = kHuge;
  }
  style.mutate_bytes = !refresh && plan_.bytes_one_in > 0 && random_.one_in(plan_.bytes_one_in);
  const WallTimeMs now = world_.seams().clock.wall_now_ms();
  const uint64_t heap_before = heap_bytes();
  std::shared_ptr<FuzzRequest> request =
      make_request(api, version, next_correlation_id_++, known_, random_, now, style);
  if (request->target() == kNoBroker && needs_coordinator(key) && !random_.one_in(16)) {
    request = make_request(index_of(ApiKey::find_coordinator), kFindCoordinatorVersion, next_correlation_id_++, known_,
                           random_, now, {});
  }
  // The frame twice: a copy waits in the connection.
  request->takes_heap(std::max(heap_bytes(), heap_before) - heap_before + request->frame().size());
  forget_heap_peak();  // it was the fuzzer's own
  return request;
}

bool FuzzRound::can_take(const Slot& slot) const {
  if (!slot.connection || slot.connection->is_closed() || slot.requests_left == 0) return false;
  return slot.deaf ? slot.connection->unsent() == 0 : slot.expected.size() < plan_.pipeline;
}

FuzzRound::Slot& FuzzRound::choose_slot(BrokerId target, bool deaf) {
  std::vector<Slot*> free;
  const auto collect = [&](bool anybody) {
    for (const auto& slot : slots_) {
      const bool fits = slot->deaf == deaf && (anybody || slot->broker->id() == target);
      if (fits && can_take(*slot)) free.push_back(slot.get());
    }
  };
  const bool anybody = target == kNoBroker || random_.one_in(20);
  collect(anybody);
  for (int i = 0; i < kTriesForTarget && !anybody && free.empty(); ++i) {
    world_.run_for(kBetweenTries);
    for (const auto& slot : slots_) look_after(*slot);
    collect(false);
  }
  while (free.empty()) {
    collect(true);
    if (free.empty()) world_.run_for(kBetweenTries);
    for (const auto& slot : slots_) look_after(*slot);
    std::erase_if(free, [this](const Slot* slot) { return !can_take(*slot); });
  }
  return *any_of(random_, free);
}

ApiTally& FuzzRound::tally(const FuzzRequest& request) {
  return report_.apis[static_cast<size_t>(&request.api() - kafka::kApiTable.data())];
}

void FuzzRound::send(Slot& slot, std::shared_ptr<FuzzRequest> request) {
  ++report_.requests;
  ++tally(*request).requests;
  --slot.requests_left;
  recent_.push_back(request);
  if (recent_.size() > kRecent) recent_.pop_front();
  if (request->frame().size() > kLargeFrame) large_.push_back(request);
  if (large_.size() > kLargeOnes) large_.pop_front();
  slot.connection->send(request->frame());
  if (slot.deaf) {
    ++tally(*request).left;
    return;
  }
  const MonotonicTime before = slot.expected.empty() ? MonotonicTime() : slot.expected.back().deadline;
  const bool waits_for_long = request->own_wait() > kOwnWaitMax || request->has_changed_bytes();
  const MonotonicTime deadline =
      waits_for_long ? MonotonicTime::max() : world_.world().now() + request->own_wait() + kAnswerMax;
  slot.expected.push_back({std::move(request), std::max(before, deadline)});
}

void FuzzRound::let_time_pass() {
  const auto up_to = [this](Duration most) {
    return Duration(static_cast<int64_t>(random_.below(static_cast<uint64_t>(most.count()))));
  };
  if (random_.one_in(2000)) return world_.run_for(up_to(10s));
  if (random_.one_in(200)) return world_.run_for(up_to(300ms));
  world_.run_for(random_.one_in(4) ? up_to(4ms) : up_to(200us));
}

Task<void> FuzzRound::connect(Slot& slot) {
  slot.connecting = true;
  auto connection = co_await FuzzConnection::connect(world_.seams(), slot.broker->address());
  slot.connecting = false;
  if (!connection) co_return;
  slot.connection = std::move(*connection);
  slot.requests_left = 20 + random_.below(slot.deaf ? 200 : 400);
  if (slot.deaf) slot.connection->stop_reading();
  if (leaving_) slot.connection->close();
}

void FuzzRound::look_after(Slot& slot) {
  if (slot.connecting) return;
  if (slot.connection) {
    take_answers(slot);
    check_deadline(slot);
    const bool impatient = random_.one_in(200);
    if (slot.connection->is_closed()) return connection_closed(slot, false);
    if (slot.requests_left > 0 || !(slot.expected.empty() || impatient) || (slot.deaf && !impatient)) return;
    return connection_closed(slot, true);
  }
  if (slot.broker->running()) connects_.spawn(connect(slot));
}

void FuzzRound::connection_closed(Slot& slot, bool by_us) {
  for (const Expected& expected : slot.expected) {
    ApiTally& api = tally(*expected.request);
    ++(by_us || expected.request->may_stay_unanswered() || !slot.broker->running() ? api.left : api.closed);
  }
  slot.expected.clear();
  slot.given_up.clear();
  slot.connection->close();
  slot.connection.reset();
}

void FuzzRound::take_answers(Slot& slot) {
  for (const SharedBytes& frame : slot.connection->take_frames()) take_answer(slot, frame.view());
  // Whether such a request is answered shows with the answer to the next one; without a next one it may never show.
  const bool may_wait_for_ever = slot.expected.size() == 1 && slot.expected.front().request->may_stay_unanswered();
  if (may_wait_for_ever && random_.one_in(20)) give_up_first(slot);
}

void FuzzRound::give_up_first(Slot& slot) {
  ++tally(*slot.expected.front().request).left;
  slot.given_up.insert(slot.expected.front().request->correlation_id());
  slot.expected.pop_front();
}

void FuzzRound::take_answer(Slot& slot, BytesView frame) {
  constexpr size_t kCorrelationId = 4;
  if (frame.size() < kCorrelationId) {
    return problems_.report(Demand::answers, fmt::format("an answer of {} bytes", frame.size()));
  }
  const auto id = load_big_endian<int32_t>(frame.data());
  if (slot.given_up.erase(id) > 0) return;
  while (!slot.expected.empty() && slot.expected.front().request->correlation_id() != id &&
         slot.expected.front().request->may_stay_unanswered()) {
    give_up_first(slot);
  }
  if (slot.expected.empty()) {
    return problems_.report(Demand::answers, fmt::format("an answer to nothing: {}", hex(frame)));
  }
  const std::shared_ptr<FuzzRequest> request = std::move(slot.expected.front().request);
  slot.expected.pop_front();
  const auto verdict = request->take_answer(frame, known_, slot.broker->id());
  if (!verdict) {
    recent_.push_back(request);
    return problems_.report(Demand::answers,
                            fmt::format("the answer to {} v{} is wrong: {}; it is {}", request->api().name,
                                        request->version(), verdict.error().to_string(), hex(frame)));
  }
  check_offsets();
  ++(*verdict == FuzzRequest::Verdict::success ? tally(*request).successes : tally(*request).refused);
}

// Whatever the brokers' own account says: what they have acknowledged is in their memory.
void FuzzRound::check_offsets() {
  const uint64_t most = world_.brokers().size() * world_.state_max();
  if (known_.offset_bytes() <= most) return;
  known_.forget_offsets_of_deleted_topics();
  if (known_.offset_bytes() <= most) return;
  problems_.report(Demand::memory, fmt::format("{} bytes of metadata are committed with offsets, {} are allowed",
                                               known_.offset_bytes(), most));
}

void FuzzRound::check_deadline(Slot& slot) {
  if (slot.expected.empty() || slot.expected.front().deadline > world_.world().now()) return;
  if (slot.expected.front().request->may_stay_unanswered()) return;
  const std::shared_ptr<FuzzRequest>& late = slot.expected.front().request;
  recent_.push_back(late);
  problems_.report(Demand::time, fmt::format("{} v{}, request {}, is neither answered nor is its connection closed",
                                             late->api().name, late->version(), late->correlation_id()));
}

void FuzzRound::wait_for_answers() {
  const MonotonicTime end = world_.world().now() + kAnswerMax + kOwnWaitMax;
  const auto waits = [](const std::unique_ptr<Slot>& slot) {
    return std::ranges::any_of(slot->expected, [](const Expected& expected) {
      return !expected.request->may_stay_unanswered() && expected.deadline != MonotonicTime::max();
    });
  };
  while (!problems_.first() && world_.world().now() < end && std::ranges::any_of(slots_, waits)) {
    world_.run_for(20ms);
    for (const auto& slot : slots_) {
      if (!slot->connection) continue;
      take_answers(*slot);
      check_deadline(*slot);
      if (slot->connection->is_closed()) connection_closed(*slot, false);
    }
  }
}

// Clients of which nothing may be left a few seconds later.
void FuzzRound::leave() {
  leaving_ = true;
  for (const auto& slot : slots_) {
    if (slot->connection) connection_closed(*slot, true);
  }
  world_.run_until([this] { return connects_.running() == 0; }, kConnectMax);
  if (problems_.first()) return;
  world_.run_for(5s);
  world_.check_leftovers();
}

std::string FuzzRound::recent_requests() const {
  std::string text;
  const auto add = [&text](const std::shared_ptr<FuzzRequest>& request) {
    text +=
        fmt::format("  {} v{} ({}) for broker {}{}: {}\n    {}\n", request->api().name, request->version(),
                    request->correlation_id(), request->target(), request->has_changed_bytes() ? ", bytes changed" : "",
                    request->to_json().substr(0, kShownText), hex(request->frame()));
  };
  text += "the last large requests:\n";
  std::ranges::for_each(large_, add);
  text += "the last requests:\n";
  std::ranges::for_each(recent_, add);
  return text;
}

}  // namespace naru::fuzzing
