// Fetch sessions against a whole broker: a client that is told only changes, beside one that is told everything.
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "foundation/log.h"
#include "kafka_protocol/messages/create_topics_request.h"
#include "kafka_protocol/messages/create_topics_response.h"
#include "kafka_protocol/messages/delete_topics_request.h"
#include "kafka_protocol/messages/delete_topics_response.h"
#include "kafka_protocol/messages/fetch_request.h"
#include "kafka_protocol/messages/fetch_response.h"
#include "kafka_protocol/messages/produce_request.h"
#include "kafka_protocol/messages/produce_response.h"
#include "record_format/batch_builder.h"
#include "record_format/decompressor.h"
#include "record_format/record_reader.h"
#include "simulation/kafka_client.h"
#include "simulation/simulated_broker.h"

namespace naru::simulation {
namespace {

constexpr int16_t kByName = 12;
constexpr int16_t kById = 17;
constexpr int16_t kProduceVersion = 9;
constexpr int16_t kCreateVersion = 7;
constexpr int16_t kDeleteVersion = 5;
constexpr Duration kPatience = 30s;

struct Topic {
  std::string name;
  Uuid id;
  bool operator<(const Topic& other) const { return std::tie(name, id) < std::tie(other.name, other.id); }
  bool operator==(const Topic&) const = default;
};
using Place = std::pair<Topic, PartitionIndex>;

// Reads partitions from their beginning, with or without a session.
class Reader {
 public:
  Reader(std::shared_ptr<KafkaClient> client, int16_t version, bool with_session)
      : client_(std::move(client)), version_(version), with_session_(with_session) {}

  struct Reading {
    Offset position{0};
    Offset high_watermark{-1};
    ErrorCode error = ErrorCode::none;
    std::vector<std::string> values;
  };

  void add(const Topic& topic, PartitionIndex index) { readings_.try_emplace({topic, index}); }
  void remove(const Topic& topic, PartitionIndex index) { readings_.erase({topic, index}); }
  void start_over(const Topic& topic, PartitionIndex index) {
    Reading& reading = readings_.at({topic, index});
    reading.position = Offset(0);
    reading.values.clear();
  }
  const std::map<Place, Reading>& readings() const { return readings_; }

  int32_t session_id() const { return session_id_; }
  int32_t epoch = 0;
  size_t partitions_asked = 0;
  size_t partitions_told = 0;
  ErrorCode last_error = ErrorCode::none;

  Task<Status> fetch(int32_t max_wait_ms, int32_t max_bytes = 1 << 20) {
    kafka::FetchRequest request{.max_wait_ms = max_wait_ms, .min_bytes = 1, .max_bytes = max_bytes};
    fill(request);
    NARU_CO_TRY_ASSIGN(const auto response, co_await client_->call<kafka::FetchResponse>(request, version_, kPatience));
    co_return take(response);
  }

 private:
  void fill(kafka::FetchRequest& request) {
    const bool incremental = with_session_ && session_id_ != 0;
    request.session_id = with_session_ ? session_id_ : 0;
    request.session_epoch = with_session_ ? epoch : -1;
    if (!incremental) sent_.clear();
    for (const auto& [place, reading] : readings_) {
      const auto known = sent_.find(place);
      if (known != sent_.end() && known->second == reading.position) continue;
      sent_[place] = reading.position;
      ++partitions_asked;
      if (request.topics.empty() || request.topics.back().topic != name_of(place.first) ||
          request.topics.back().topic_id != id_of(place.first)) {
        request.topics.push_back({.topic = name_of(place.first), .topic_id = id_of(place.first)});
      }
      request.topics.back().partitions.push_back(
          {.partition = place.second, .fetch_offset = reading.position, .partition_max_bytes = 1 << 20});
    }
    for (auto sent = sent_.begin(); sent != sent_.end();) {
      if (readings_.contains(sent->first)) {
        ++sent;
        continue;
      }
      const auto& [topic, index] = sent->first;
      forgotten_names_.insert(topic.name);
      request.forgotten_topics_data.push_back({.topic = version_ < 13 ? *forgotten_names_.find(topic.name) : "",
                                               .topic_id = id_of(topic),
                                               .partitions = {index}});
      sent = sent_.erase(sent);
    }
  }

  Status take(const kafka::FetchResponse& response) {
    last_error = response.error_code;
    if (response.error_code != ErrorCode::none) {
      session_id_ = 0;
      epoch = 0;
      return {};
    }
    if (with_session_) {
      session_id_ = response.session_id;
      epoch = session_id_ == 0 ? 0 : epoch + 1;
    }
    for (const auto& topic : response.responses) {
      for (const auto& partition : topic.partitions) {
        ++partitions_told;
        NARU_TRY(take_partition(topic, partition));
      }
    }
    return {};
  }

  Status take_partition(const kafka::FetchResponse::FetchableTopicResponse& topic,
                        const kafka::FetchResponse::PartitionData& partition) {
    for (auto& [place, reading] : readings_) {
      if (place.second != partition.partition_index || name_of(place.first) != topic.topic ||
          id_of(place.first) != topic.topic_id) {
        continue;
      }
      reading.error = partition.error_code;
      if (partition.error_code == ErrorCode::offset_out_of_range) reading = {};
      if (partition.error_code != ErrorCode::none) return {};
      reading.high_watermark = partition.high_watermark;
      return take_records(partition.records.bytes(), reading);
    }
    return error(ErrorCode::invalid_request, "told of a partition that is not read: {}", topic.topic);
  }

  static Status take_records(BytesView records, Reading& reading) {
    while (!records.empty()) {
      NARU_TRY_ASSIGN(const auto header, parse_batch_header(records));
      Decompressor decompressor;
      NARU_TRY_ASSIGN(auto reader, open_records(header, records.first(header.total_size), decompressor, 1 << 20));
      RecordView record;
      while (reader.next(record)) {
        if (record.offset < reading.position) continue;
        reading.values.emplace_back(as_text(*record.value));
        reading.position = record.offset + 1;
      }
      records = records.subspan(header.total_size);
    }
    return {};
  }

  std::string_view name_of(const Topic& topic) const { return version_ < 13 ? std::string_view(topic.name) : ""; }
  Uuid id_of(const Topic& topic) const { return version_ < 13 ? Uuid() : topic.id; }

  std::shared_ptr<KafkaClient> client_;
  const int16_t version_;
  const bool with_session_;
  int32_t session_id_ = 0;
  std::map<Place, Reading> readings_;
  std::map<Place, Offset> sent_;  // what the session knows
  std::set<std::string> forgotten_names_;
};

class FetchSessionRun {
 public:
  explicit FetchSessionRun(uint64_t seed, ConfigOverrides config = {})
      : world_(seed), harness_(world_.add_node("harness").start()) {
    silence_log();
    config["log.dirs"] = "/data";
    config["listeners"] = "PLAINTEXT://broker:9092";
    config["naru.admin.listener"] = "";
    broker_ = std::make_unique<SimulatedBroker>(world_.add_node("broker"), harness_->seams(),
                                                make_broker_config(config).value());
  }

  // Runs the task with a broker around it; the first problem.
  Status run(Task<Status> test) {
    world_.run_task(around(std::move(test)));
    return std::move(status_);
  }

  Seams seams() { return harness_->seams(); }
  uint64_t below(uint64_t limit) { return world_.random().below(limit); }
  Task<void> pause(Duration length) { ignore(co_await sleep_until(seams().scheduler, seams().clock.now() + length)); }
  TaskGroup& tasks() { return tasks_; }

  Task<std::shared_ptr<KafkaClient>> connect() {
    auto client = co_await KafkaClient::connect(seams(), broker_->address());
    clients_.push_back(client.value());
    co_return clients_.back();
  }

  Task<Result<Topic>> create(std::string name, int32_t partitions) {
    if (!admin_) admin_ = co_await connect();
    kafka::CreateTopicsRequest request{.timeout_ms = 10'000};
    request.topics.push_back({.name = name, .num_partitions = partitions, .replication_factor = 1});
    NARU_CO_TRY_ASSIGN(const auto response,
                       co_await admin_->call<kafka::CreateTopicsResponse>(request, kCreateVersion, kPatience));
    if (response.topics.at(0).error_code != ErrorCode::none)
      co_return failure(Status(response.topics.at(0).error_code));
    co_return Topic{name, response.topics.at(0).topic_id};
  }

  Task<Status> remove(std::string name) {
    kafka::DeleteTopicsRequest request{.timeout_ms = 10'000};
    request.topic_names.emplace_back(name);
    NARU_CO_TRY_ASSIGN(const auto response,
                       co_await admin_->call<kafka::DeleteTopicsResponse>(request, kDeleteVersion, kPatience));
    co_return Status(response.responses.at(0).error_code);
  }

  Task<Status> produce(std::string topic, PartitionIndex index, std::vector<std::string> values) {
    BatchBuilder builder({.compression = static_cast<Compression>(below(5))});
    for (const std::string& value : values) builder.add(1, std::nullopt, value);
    const Bytes batch = builder.build().value();
    kafka::ProduceRequest request{.acks = 1, .timeout_ms = 10'000};
    request.topic_data.push_back({.name = topic});
    request.topic_data.back().partition_data.push_back({.index = index, .records = batch});
    NARU_CO_TRY_ASSIGN(const auto response,
                       co_await admin_->call<kafka::ProduceResponse>(request, kProduceVersion, kPatience));
    co_return Status(response.responses.at(0).partition_responses.at(0).error_code);
  }

  std::string metrics() { return broker_->metrics().render_prometheus(); }

 private:
  Task<void> around(Task<Status> test) {
    co_await broker_->start();
    status_ = co_await std::move(test);
    for (const auto& client : clients_) client->close();
    co_await tasks_.join();
    ignore(co_await broker_->stop_cleanly());
    co_await broker_->wait_for_remains();
  }

  SimulatedWorld world_;
  std::unique_ptr<SimulatedProcess> harness_;
  std::unique_ptr<SimulatedBroker> broker_;
  std::shared_ptr<KafkaClient> admin_;
  std::vector<std::shared_ptr<KafkaClient>> clients_;
  TaskGroup tasks_;
  Status status_;
};

Status expect(bool condition, std::string_view what) {
  return condition ? Status() : error(ErrorCode::invalid_request, "{}", what);
}

// ---- the differential test

class Differential {
 public:
  Differential(FetchSessionRun& run, int16_t version) : run_(run), version_(version) {}

  Task<Status> test() {
    for (const char* name : {"a", "b", "c"}) NARU_CO_TRY(co_await make(name));
    const auto session_client = co_await run_.connect();
    const auto plain_client = co_await run_.connect();
    Reader session(session_client, version_, true);
    Reader plain(plain_client, version_, false);
    readers_ = {&session, &plain};
    for (int step = 0; step < 60; ++step) {
      NARU_CO_TRY(co_await act());
      // Small answers, so that the rest has to wait for its turn.
      const auto max_bytes = static_cast<int32_t>(run_.below(2) == 0 ? 1 << 20 : 100);
      NARU_CO_TRY(co_await session.fetch(static_cast<int32_t>(run_.below(3) * 50), max_bytes));
      NARU_CO_TRY(co_await plain.fetch(static_cast<int32_t>(run_.below(2) * 50), max_bytes));
    }
    for (int i = 0; i < 200; ++i) {
      NARU_CO_TRY(co_await session.fetch(10));
      NARU_CO_TRY(co_await plain.fetch(10));
    }
    for (const Reader* reader : readers_) NARU_CO_TRY(check(*reader));
    NARU_CO_TRY(expect(session.session_id() != 0, "no session was granted"));
    co_return expect(session.partitions_told < plain.partitions_told / 2, "the session saves nothing");
  }

 private:
  static constexpr int32_t kPartitions = 4;

  Task<Status> make(std::string name) {
    NARU_CO_TRY_ASSIGN(const Topic topic, co_await run_.create(name, kPartitions));
    topics_[name] = topic;
    for (int32_t i = 0; i < kPartitions; ++i) truth_[{topic, PartitionIndex(i)}];
    co_return Status();
  }

  Place random_place() {
    auto place = truth_.begin();
    std::advance(place, run_.below(truth_.size()));
    return place->first;
  }

  Task<Status> act() {
    const Place place = random_place();
    switch (run_.below(12)) {
      case 0:
      case 1:
      case 2: {
        for (Reader* reader : readers_) reader->add(place.first, place.second);
        break;
      }
      case 3: {
        for (Reader* reader : readers_) reader->remove(place.first, place.second);
        break;
      }
      case 4:
        co_return co_await make_again(place.first);
      case 5: {
        for (Reader* reader : readers_) {
          if (reader->readings().contains(place)) reader->start_over(place.first, place.second);
        }
        break;
      }
      default: {
        std::vector<std::string> values;
        for (uint64_t i = 0, count = 1 + run_.below(3); i < count; ++i) values.push_back(std::to_string(next_value_++));
        NARU_CO_TRY(co_await run_.produce(place.first.name, place.second, values));
        auto& written = truth_.at(place);
        written.insert(written.end(), values.begin(), values.end());
      }
    }
    co_return Status();
  }

  // By name, a reader does not notice by itself that the topic is another one; the test tells it where to go on.
  Task<Status> make_again(Topic old) {
    NARU_CO_TRY(co_await run_.remove(old.name));
    if (run_.below(2) == 0) {  // a look at the topic that is not there
      for (Reader* reader : readers_) NARU_CO_TRY(co_await reader->fetch(0));
    }
    NARU_CO_TRY(co_await make(old.name));
    const Topic fresh = topics_.at(old.name);
    for (int32_t i = 0; i < kPartitions; ++i) {
      const PartitionIndex index(i);
      truth_.erase({old, index});
      for (Reader* reader : readers_) {
        if (!reader->readings().contains({old, index})) continue;
        reader->remove(old, index);
        reader->add(fresh, index);
      }
    }
    co_return Status();
  }

  Status check(const Reader& reader) const {
    for (const auto& [place, reading] : reader.readings()) {
      const auto& written = truth_.at(place);
      if (reading.values != written || reading.high_watermark != Offset(static_cast<int64_t>(written.size()))) {
        return error(ErrorCode::invalid_request, "{}-{}: {} of {} records, high watermark {}, error {}",
                     place.first.name, place.second, reading.values.size(), written.size(), reading.high_watermark,
                     describe(reading.error).name);
      }
    }
    return {};
  }

  FetchSessionRun& run_;
  const int16_t version_;
  std::map<std::string, Topic> topics_;
  std::map<Place, std::vector<std::string>> truth_;
  std::vector<Reader*> readers_;
  uint64_t next_value_ = 0;
};

TEST(FetchSessions, AClientWithASessionReadsTheSameAsOneWithout) {
  for (const int16_t version : {kByName, kById}) {
    for (uint64_t seed = 1; seed <= 25; ++seed) {
      FetchSessionRun run(seed);
      Differential differential(run, version);
      const Status status = run.run(differential.test());
      ASSERT_TRUE(status.ok()) << "version " << version << ", seed " << seed << ": " << status.to_string();
    }
  }
}

// ---- rules

Task<Status> check_rules(FetchSessionRun& run) {
  NARU_CO_TRY_ASSIGN(const Topic topic, co_await run.create("t", 2));
  const auto client = co_await run.connect();
  Reader reader(client, kById, true);
  reader.add(topic, PartitionIndex(0));
  NARU_CO_TRY(co_await reader.fetch(0));
  NARU_CO_TRY(expect(reader.session_id() > 0, "no session"));
  NARU_CO_TRY(expect(reader.partitions_told == 1, "the first answer is whole"));
  NARU_CO_TRY(co_await reader.fetch(0));
  NARU_CO_TRY(expect(reader.partitions_told == 1, "nothing new was told"));

  reader.epoch += 1;
  NARU_CO_TRY(co_await reader.fetch(0));
  NARU_CO_TRY(expect(reader.last_error == ErrorCode::invalid_fetch_session_epoch, "an epoch was skipped"));

  Reader other(co_await run.connect(), kById, true);
  other.add(topic, PartitionIndex(0));
  NARU_CO_TRY(co_await other.fetch(0));
  const int32_t others = other.session_id();
  kafka::FetchRequest stolen{.session_id = others, .session_epoch = 1};
  NARU_CO_TRY_ASSIGN(const auto refused, co_await client->call<kafka::FetchResponse>(stolen, kById, kPatience));
  NARU_CO_TRY(expect(refused.error_code == ErrorCode::fetch_session_id_not_found, "another connection's session"));

  kafka::FetchRequest by_name{.session_id = others, .session_epoch = 1};
  const auto named = co_await run.connect();
  Reader by_id(named, kById, true);
  by_id.add(topic, PartitionIndex(1));
  NARU_CO_TRY(co_await by_id.fetch(0));
  by_name.session_id = by_id.session_id();
  NARU_CO_TRY_ASSIGN(const auto mixed, co_await named->call<kafka::FetchResponse>(by_name, kByName, kPatience));
  NARU_CO_TRY(expect(mixed.error_code == ErrorCode::fetch_session_topic_id_error, "names in a session by id"));

  by_id.remove(topic, PartitionIndex(1));
  NARU_CO_TRY(co_await by_id.fetch(0));
  co_return expect(by_id.session_id() == 0, "a session without partitions ends");
}

TEST(FetchSessions, FollowTheRulesOfEpochsIdsAndNames) {
  FetchSessionRun run(1);
  const Status status = run.run(check_rules(run));
  EXPECT_TRUE(status.ok()) << status.to_string();
}

Task<Status> check_slots(FetchSessionRun& run) {
  NARU_CO_TRY_ASSIGN(const Topic topic, co_await run.create("t", 2));
  const auto first_client = co_await run.connect();
  Reader first(first_client, kById, true);
  Reader second(co_await run.connect(), kById, true);
  for (Reader* reader : {&first, &second}) reader->add(topic, PartitionIndex(0));
  NARU_CO_TRY(co_await first.fetch(0));
  NARU_CO_TRY(co_await second.fetch(0));
  NARU_CO_TRY(expect(first.session_id() != 0 && second.session_id() == 0, "there is one slot"));
  NARU_CO_TRY(expect(second.partitions_told == 1, "and an answer for everybody"));

  co_await run.pause(121s);
  NARU_CO_TRY(co_await second.fetch(0));
  NARU_CO_TRY(expect(second.session_id() != 0, "a session that is not used loses its slot"));
  NARU_CO_TRY(co_await first.fetch(0));
  NARU_CO_TRY(expect(first.last_error == ErrorCode::fetch_session_id_not_found, "and is gone"));
  NARU_CO_TRY(co_await first.fetch(0));
  NARU_CO_TRY(expect(first.last_error == ErrorCode::none && first.session_id() == 0, "but can go on without"));
  co_return Status();
}

TEST(FetchSessions, HaveSoManySlotsAndTheUnusedLoseTheirs) {
  FetchSessionRun run(1, {{"max.incremental.fetch.session.cache.slots", "1"}});
  const Status status = run.run(check_slots(run));
  EXPECT_TRUE(status.ok()) << status.to_string();
}

Task<void> fetch_and_note(Reader& reader, int32_t max_wait_ms, bool& done, Status& status) {
  status = co_await reader.fetch(max_wait_ms);
  done = true;
}

// The value of a counter in the broker's metrics.
uint64_t counter(FetchSessionRun& run, const std::string& name) {
  const std::string text = run.metrics();
  const size_t at = text.find("\n" + name + " ");
  return at == std::string::npos ? 0 : std::stoull(text.substr(at + name.size() + 2));
}

Task<Status> check_cost(FetchSessionRun& run) {
  constexpr int32_t kPartitions = 1'000;
  NARU_CO_TRY_ASSIGN(const Topic topic, co_await run.create("wide", kPartitions));
  Reader reader(co_await run.connect(), kById, true);
  for (int32_t i = 0; i < kPartitions; ++i) reader.add(topic, PartitionIndex(i));
  NARU_CO_TRY(co_await reader.fetch(0));
  const std::string looks = "naru_fetch_session_looks_total";
  const uint64_t before = counter(run, looks);
  NARU_CO_TRY(expect(before == kPartitions, "each partition is looked at once"));
  for (int32_t round = 0; round < 20; ++round) {
    bool done = false;
    Status status;
    run.tasks().spawn(fetch_and_note(reader, 20'000, done, status));
    co_await run.pause(100ms);
    NARU_CO_TRY(expect(!done, "there is nothing to read yet"));
    NARU_CO_TRY(co_await run.produce("wide", PartitionIndex(37 * round), {"x"}));
    co_await run.pause(1s);
    NARU_CO_TRY(expect(done && status.ok(), "the append answers the parked fetch"));
  }
  NARU_CO_TRY(expect(reader.partitions_told == kPartitions + 20, "one partition per answer"));
  co_return expect(counter(run, looks) - before <= 60, "idle partitions are not looked at");
}

TEST(FetchSessions, AParkedFetchOfAThousandPartitionsLooksOnlyAtTheOneWithData) {
  FetchSessionRun run(1);
  const Status status = run.run(check_cost(run));
  EXPECT_TRUE(status.ok()) << status.to_string();
}

}  // namespace
}  // namespace naru::simulation
