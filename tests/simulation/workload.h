// The clients of a run: producers, consumers and an administrator, each a coroutine that speaks real bytes and writes
// down in the History what it was told.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "async/task.h"
#include "platform/seams.h"
#include "simulation/broker_directory.h"
#include "simulation/copy_chain.h"
#include "simulation/fault_plan.h"
#include "simulation/group_member.h"
#include "simulation/history.h"
#include "simulation/kafka_client.h"

namespace naru::simulation {

// Topics that come and go begin with it: no checker asks what was written to them.
inline constexpr std::string_view kPassingTopic = "passing-";

class Workload {
 public:
  Workload(Seams seams, std::vector<Endpoint> brokers, const RunPlan& plan, History& history)
      : seams_(seams), brokers_(seams, std::move(brokers)), plan_(plan), history_(history) {}

  // Creates the topics; tries until the broker says that they exist.
  Task<void> create_topics();
  // These run until stop().
  Task<void> produce(int producer);
  Task<void> produce_idempotently(int producer);
  Task<void> consume();
  Task<void> administrate();
  Task<void> be_in_a_group(int member);
  Task<void> be_in_a_consumer_group(int member);
  Task<void> be_in_a_mixed_group(int member);
  CopyChain& chain() { return chain_; }  // has tasks of its own
  void stop() { stopping_ = true; }
  void power_was_cut(const History::SyncedEnds& synced);

  // On healed brokers: everything must work again, and everything promised must be there.
  Task<void> wait_for_full_isr(Duration limit);
  Task<void> check_liveness();
  Task<void> read_everything();
  Task<void> check_groups();

  const std::optional<std::string>& problem() const { return problem_; }
  const GroupHistory& groups() const { return groups_; }
  // Partitions whose log refused to open. Only a disk that lied may cause it: then a refusal that names the file is
  // right, and cutting the log would not be.
  size_t refused_logs() const { return refused_logs_.size(); }
  // Batches of idempotent producers that were sent more than once.
  size_t repeated_batches() const { return repeated_batches_; }

 private:
  using Client = std::shared_ptr<KafkaClient>;
  using TopicSettings = std::vector<std::pair<std::string, std::string>>;

  Task<void> create_topic(std::string name, int partitions, TopicSettings settings);
  Task<Client> connect();
  Task<Client> connect_to_leader(PartitionName partition);
  Task<void> pause(Duration longest);
  PartitionName random_partition();
  std::vector<std::string> new_values(int producer, size_t count);
  Task<void> produce_batch(Client client, int producer, PartitionName partition, int16_t acks);
  Task<Result<int>> fetch_once(Client client, PartitionName partition, Offset& position,
                               std::vector<std::pair<Offset, std::string>>* content);
  Task<void> look_at_the_end(Client client, PartitionName partition);
  Task<void> ask_in_an_old_epoch(Client client, PartitionName partition);
  Task<void> ask_for_an_epoch_end(Client client, PartitionName partition);
  Task<void> delete_some_records();
  // In an epoch that the leader must have, or the request is refused.
  Task<Result<Offset>> latest_offset(Client client, const PartitionName& partition, LeaderEpoch epoch);
  Task<void> read_partition(PartitionName partition);
  void take_records(const PartitionName& partition, BytesView records, Offset& position,
                    std::vector<std::pair<Offset, std::string>>* content);
  std::vector<PartitionName> all_partitions() const;
  GroupContext group_context();
  Task<void> check_group(std::string group);
  void failed(std::string sentence);

  Seams seams_;
  BrokerDirectory brokers_;
  const RunPlan& plan_;
  History& history_;
  bool stopping_ = false;
  uint64_t next_value_ = 0;
  uint64_t power_cuts_ = 0;  // with the loose rule, answers from before a cut say nothing about the time after it
  std::set<ProducerId> producer_ids_given_;
  size_t repeated_batches_ = 0;
  GroupHistory groups_;
  std::set<std::string> topics_that_must_exist_;
  std::set<PartitionName> refused_logs_;
  ErrorCode last_error_ = ErrorCode::none;  // of the newest answer to a produce request
  std::optional<std::string> problem_;
  UniqueFunction<void(std::string)> fail_{[this](std::string sentence) { failed(std::move(sentence)); }};
  CopyChain chain_{seams_, brokers_, plan_, stopping_, fail_};
};

}  // namespace naru::simulation
