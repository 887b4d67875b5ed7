// TxnOffsetCommit: how far a group has come, once the transaction is committed.
#include <algorithm>
#include <map>

#include "broker/api_handlers.h"
#include "broker/group_coordinators.h"
#include "broker/handlers/decode_request.h"
#include "broker/handlers/group_words.h"
#include "broker/handlers/transaction_verdicts.h"
#include "broker/handlers/transaction_words.h"
#include "broker/transaction_link.h"
#include "broker/turns.h"
#include "cluster_control/internal_topics.h"
#include "cluster_control/metadata_publisher.h"
#include "kafka_protocol/messages/txn_offset_commit_request.h"
#include "kafka_protocol/messages/txn_offset_commit_response.h"

namespace naru {
namespace {

constexpr int16_t kFirstVersionThatJoins = 5;
constexpr int kMaxAttempts = 3;

struct WaitingEntry {
  size_t topic;
  size_t partition;
  size_t entry;  // of what was asked
};

ErrorCode problem_with_topic(const BrokerServices& services, const RequestContext& context, const TopicMetadata* topic,
                             std::string_view name, PartitionIndex index) {
  if (!services.authorizer.authorize(context.caller, Operation::read, ResourceType::topic, name)) {
    return ErrorCode::topic_authorization_failed;
  }
  const bool exists = topic != nullptr && topic->partition(index) != nullptr;
  return exists ? ErrorCode::none : ErrorCode::unknown_topic_or_partition;
}

// Splits the request: what cannot be committed is answered at once, the rest goes to the coordinator. A partition that
// is named several times is committed once, as it was named last.
Task<void> sort_out(const BrokerServices& services, const RequestContext& context,
                    const kafka::TxnOffsetCommitRequest& request, ErrorCode refused, CommitOffsets& commit,
                    kafka::TxnOffsetCommitResponse& response, std::vector<WaitingEntry>& waiting, Turns& turns) {
  const MetadataImagePtr image = services.metadata.current();
  std::map<std::pair<std::string_view, PartitionIndex>, size_t> entries;
  for (const auto& wanted : request.topics) {
    co_await turns.step();
    auto& answered = response.topics.emplace_back();
    answered.name = wanted.name;
    const TopicMetadata* topic = image->find_topic(wanted.name);
    for (const auto& entry : wanted.partitions) {
      co_await turns.step();
      const ErrorCode code = refused != ErrorCode::none
                                 ? refused
                                 : problem_with_topic(services, context, topic, wanted.name, entry.partition_index);
      answered.partitions.push_back({.partition_index = entry.partition_index, .error_code = code});
      if (code != ErrorCode::none) continue;
      const auto [known, is_new] = entries.try_emplace({wanted.name, entry.partition_index}, commit.entries.size());
      waiting.push_back({response.topics.size() - 1, answered.partitions.size() - 1, known->second});
      if (is_new) commit.entries.emplace_back();
      commit.entries[known->second] = {.partition = {topic->name, entry.partition_index},
                                       .topic_id = topic->id,
                                       .offset = entry.committed_offset,
                                       .leader_epoch = entry.committed_leader_epoch,
                                       .metadata = std::string(entry.committed_metadata.value_or(""))};
    }
  }
}

// What the transaction's coordinator says of the group in it.
Task<Result<AddPartitionsAnswer>> ask_coordinator(const BrokerServices& services, const RequestContext& context,
                                                  const kafka::TxnOffsetCommitRequest& request) {
  const auto partition = services.groups.partition_of(request.group_id);
  if (!partition) co_return failure(ErrorCode::coordinator_not_available, "the groups are not served here any more");
  const auto mode =
      context.version >= kFirstVersionThatJoins ? AddPartitions::Mode::implicit : AddPartitions::Mode::verify_only;
  co_return co_await services.transaction_link.join({.transactional_id = std::string(request.transactional_id),
                                                     .producer = {request.producer_id, request.producer_epoch},
                                                     .partitions = {{std::string(kOffsetsTopic), *partition}},
                                                     .mode = mode});
}

// The group has seen a later epoch of the producer: of another one, which has fenced this one, or of the abort of a
// transaction that took too long. After that, the producer may go on, but it has to be told so: for clients the
// group's own word is the end.
Task<ErrorCode> tell_slow_from_fenced(const BrokerServices& services, const RequestContext& context,
                                      const kafka::TxnOffsetCommitRequest& request) {
  if (context.version < kFirstVersionThatJoins) co_return ErrorCode::invalid_producer_epoch;
  const auto verdict = co_await ask_coordinator(services, context, request);
  const ErrorCode error = verdict ? verdict->partitions.front() : ErrorCode::coordinator_not_available;
  // If it knows of no later epoch, one of both is behind.
  co_return as_commit_error(context.version, error == ErrorCode::none ? ErrorCode::coordinator_not_available : error);
}

// Whether the group is in the transaction; from version 5 on, it is from here on.
Task<ErrorCode> verify(const BrokerServices& services, const RequestContext& context,
                       const kafka::TxnOffsetCommitRequest& request, TransactionalCommit& commit) {
  const auto begun = co_await services.groups.ask<CommitVerification>(
      request.group_id, [producer = commit.producer](GroupCoordinator& groups, Reply<CommitVerification> reply,
                                                     const CoordinatorTime& time, CoordinatorOutcome& outcome) {
        groups.begin_verification(producer, std::move(reply), time, outcome);
      });
  if (!begun) co_return begun.error().code();
  commit.guard = begun->guard;
  if (begun->error == ErrorCode::invalid_producer_epoch) {
    co_return co_await tell_slow_from_fenced(services, context, request);
  }
  if (begun->error != ErrorCode::none || begun->guard == 0) co_return begun->error;
  const auto joined = co_await ask_coordinator(services, context, request);
  if (!joined) co_return as_commit_error(context.version, ErrorCode::coordinator_not_available);
  commit.transaction_number = joined->number;
  commit.coordinator_epoch = joined->coordinator_epoch;
  co_return as_commit_error(context.version, joined->partitions.front());
}

Task<CommitAnswer> verify_and_commit(const BrokerServices& services, const RequestContext& context,
                                     const kafka::TxnOffsetCommitRequest& request, TransactionalCommit commit) {
  const size_t count = commit.offsets.entries.size();
  const auto refuse = [count](ErrorCode error) { return CommitAnswer{std::vector<ErrorCode>(count, error)}; };
  for (int attempt = 1;; ++attempt) {
    const ErrorCode error = co_await verify(services, context, request, commit);
    if (error != ErrorCode::none) co_return refuse(error);
    auto answer = co_await services.groups.ask<CommitAnswer>(
        request.group_id,
        [commit](GroupCoordinator& groups, Reply<CommitAnswer> reply, const CoordinatorTime& time,
                 CoordinatorOutcome& outcome) {
          groups.commit_in_transaction(commit, std::move(reply), time, outcome);
        },
        {.elements = count});
    co_await off_the_loop_if_large(services, context, count);
    if (!answer) co_return refuse(answer.error().code());
    if (answer->entries.front() == ErrorCode::invalid_producer_epoch) {
      co_return refuse(co_await tell_slow_from_fenced(services, context, request));
    }
    // The end of an earlier one is not there yet, or was not known to who has confirmed this one.
    std::ranges::replace(answer->entries, ErrorCode::concurrent_transactions,
                         as_commit_error(context.version, ErrorCode::concurrent_transactions));
    // A marker has made the answer of the coordinator void: of an earlier transaction, if this one is open.
    const bool was_void = commit.guard != 0 && answer->entries.front() == ErrorCode::invalid_txn_state;
    if (!was_void || attempt == kMaxAttempts) co_return std::move(*answer);
  }
}

}  // namespace

Task<Response> handle_txn_offset_commit(const BrokerServices& services, const RequestContext& context,
                                        kafka::WireReader& reader) {
  kafka::TxnOffsetCommitRequest request;
  if (auto malformed = decode_or_close(context, reader, request)) co_return std::move(*malformed);

  TransactionalCommit commit{.offsets = {.group_id = std::string(request.group_id),
                                         .member = {.member_id = std::string(request.member_id),
                                                    .instance_id = to_owned(request.group_instance_id),
                                                    .generation = request.generation_id},
                                         .retention = std::nullopt,
                                         .knows_member_epochs = true,
                                         .entries = {}},
                             .producer = {request.producer_id, request.producer_epoch},
                             .connection = context.connection->number()};
  ErrorCode refused = transactional_id_access(services, context, Operation::write, request.transactional_id);
  if (refused == ErrorCode::none) refused = group_access(services, context, Operation::read, request.group_id);
  if (refused == ErrorCode::none && request.group_id.empty()) refused = ErrorCode::invalid_group_id;
  kafka::TxnOffsetCommitResponse response;
  std::vector<WaitingEntry> waiting;
  {
    Turns turns(services, context, Turns::Order::kept);
    co_await sort_out(services, context, request, refused, commit.offsets, response, waiting, turns);
    co_await turns.to_worker_if_large();
  }
  if (waiting.empty()) co_return encode_reply(context, response);

  context.times.mark(RequestStage::handled, services.clock.now());
  const CommitAnswer answer = co_await verify_and_commit(services, context, request, commit);
  for (const auto& [topic, partition, entry] : waiting) {
    response.topics[topic].partitions[partition].error_code = answer.entries[entry];
  }
  co_return encode_reply(context, response);
}

}  // namespace naru
