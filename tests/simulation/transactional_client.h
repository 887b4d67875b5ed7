// A transactional producer, as stock clients of both protocol versions are: it repeats what is not answered over new
// connections, and what it has given up may come to the broker much later, over the old one.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "async/task.h"
#include "async/task_group.h"
#include "platform/seams.h"
#include "record_format/transaction_marker.h"
#include "simulation/broker_directory.h"
#include "simulation/history.h"
#include "simulation/kafka_client.h"

namespace naru::simulation {

class TransactionalClient {
 public:
  using Records = std::vector<std::pair<std::string, std::string>>;  // keys and values
  struct Settings {
    std::string transactional_id;
    int16_t version = 1;     // 2: partitions are added by their leaders, each transaction has an epoch
    int32_t timeout_ms = 0;  // of transactions
    bool is_calm = false;    // nothing is held, and nobody is in a hurry
  };
  // `is_over`: whoever waits gives up.
  TransactionalClient(Seams seams, BrokerDirectory& brokers, Settings settings, std::function<bool()> is_over)
      : seams_(seams), brokers_(brokers), settings_(std::move(settings)), is_over_(std::move(is_over)) {}

  // All of them: false when the client has to begin anew, with begin() or as another one of the same id. Whatever was
  // asked may have happened, or may happen later.
  Task<bool> begin();
  // Batches in this order, all in flight at once.
  Task<bool> write(PartitionName partition, std::vector<Records> batches);
  // Sends a batch that comes late, and does not wait for it: from here on there is nothing to do but to abort.
  Task<void> write_and_give_up(PartitionName partition, Records records);
  Task<bool> send_offsets(std::string group, std::map<PartitionName, Offset> offsets);
  Task<bool> end(bool commit);

  // As far as a group has come with a partition; none when that cannot be found out.
  Task<std::optional<Offset>> position(std::string group, PartitionName partition);

  ErrorCode last_error() const { return last_error_; }
  // Once: what is on its way has come to its end.
  Task<void> close();

 private:
  using Client = std::shared_ptr<KafkaClient>;
  // Somebody to talk to. A connection is kept until something is wrong with it.
  struct Target {
    enum class Kind : uint8_t { transactions, group, leader };
    Kind kind;
    std::string group;
    PartitionName partition;
    auto operator<=>(const Target&) const = default;
  };
  struct Batch {
    Bytes bytes;
    bool stored = false;
    ErrorCode error = ErrorCode::none;  // of its newest answer
  };

  Task<void> pause(Duration longest);
  Task<Client> connect(Target target);
  void drop(const Target& target);
  Duration patience();
  bool holds_this_one();
  Task<void> deliver_late(Client client, Bytes frame);
  // Until there is an answer that is not about waiting; none when it is over, or has taken too long.
  template <class Response, class Request, class ErrorOf>
  Task<std::optional<Response>> ask(Target target, Request request, int16_t version, ErrorOf error_of);
  Task<bool> add_partition(PartitionName partition);
  Task<bool> add_group(std::string group);
  Batch next_batch(const PartitionName& partition, const Records& records);
  Task<void> attempt(PartitionName partition, std::vector<Batch>& batches);
  Task<void> send(Client client, PartitionName partition, Batch& batch);
  Bytes produce_frame(const PartitionName& partition, const Batch& batch) const;
  int16_t produce_version() const;
  bool is_first_version() const { return settings_.version == 1; }
  void become(const ProducerIdentity& producer);
  bool went_well(ErrorCode error);

  Seams seams_;
  BrokerDirectory& brokers_;
  const Settings settings_;
  const std::function<bool()> is_over_;
  ProducerIdentity producer_;
  std::map<PartitionName, int32_t> next_sequence_;  // of this epoch
  std::map<Target, Client> connections_;
  std::vector<PartitionName> added_;  // to this transaction, by this client
  bool has_given_up_ = false;         // a batch of this epoch
  ErrorCode last_error_ = ErrorCode::none;
  TaskGroup late_;
};

}  // namespace naru::simulation
