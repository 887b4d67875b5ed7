#include "command_line/open_transactions.h"

#include <algorithm>
#include <set>

#include "command_line/units.h"

namespace naru::command_line {
namespace {

// For the coordinator to notice a timeout, and for markers to be written.
constexpr Duration kTimeToEnd = 10s;

using client::ListedTransaction;
using client::PartitionProducer;
using client::TopicPartition;

const ListedTransaction* find_unfinished(const std::vector<ListedTransaction>& known, ProducerId id) {
  const auto found = std::ranges::find_if(known, [id](const ListedTransaction& transaction) {
    return transaction.producer_id == id &&
           (client::is_ongoing(transaction.state) || client::is_being_ended(transaction.state));
  });
  return found == known.end() ? nullptr : &*found;
}

bool is_same_transaction(const PartitionProducer& before, const ProducersByPartition& after,
                         const TopicPartition& partition) {
  const auto found = after.find(partition);
  if (found == after.end()) return false;
  const PartitionProducer* now = found->second.find(before.producer.id);
  return now != nullptr && now->transaction_start == before.transaction_start;
}

// Whether every transactional id has a broker that could have told about it.
Task<Status> check_coordinators(client::ClusterClient& client) {
  NARU_CO_TRY(co_await client.refresh({client::kTransactionStateTopic}));
  const client::TopicInfo* topic = client.metadata().find_topic(client::kTransactionStateTopic);
  if (topic == nullptr) co_return Status();
  const auto offline = std::ranges::count_if(topic->partitions, &client::PartitionInfo::is_offline);
  if (offline == 0) co_return Status();
  co_return error(ErrorCode::coordinator_not_available,
                  "{} of {} partitions of {} have no leader: whose a transaction is cannot be told", offline,
                  topic->partitions.size(), client::kTransactionStateTopic);
}

// A word as a shell takes it. What cannot be shown cannot be copied either.
std::string shell_word(std::string_view text) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/:@%+=,";
  if (!text.empty() && text.find_first_not_of(kPlain) == std::string_view::npos) return std::string(text);
  std::string word = "'";
  for (const char letter : printable(text)) word += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
  return word + "'";
}

std::string with_id(std::string_view command, std::string_view transactional_id) {
  const bool like_a_flag = transactional_id.starts_with('-');
  return fmt::format("naru txn {} {}{}", command, like_a_flag ? "-- " : "", shell_word(transactional_id));
}

}  // namespace

Stuck stuck(const client::TransactionDescription& transaction, WallTimeMs now) {
  if (!transaction.is_unfinished()) return Stuck::no;
  const bool overdue = transaction.start >= 0 && age_of(transaction.start, now) > transaction.timeout + kTimeToEnd;
  if (client::is_ongoing(transaction.state)) return overdue ? Stuck::overdue : Stuck::no;
  // Of a broker that does not tell since when: at the latest since its timeout.
  const bool slow = transaction.last_update < 0 ? overdue : age_of(transaction.last_update, now) > kTimeToEnd;
  return slow ? Stuck::ending : Stuck::no;
}

std::string_view word_for(Stuck stuck) {
  switch (stuck) {
    case Stuck::no:
      return "no";
    case Stuck::overdue:
      return "overdue";
    case Stuck::ending:
      return "ending";
  }
  return "";
}

std::vector<OpenTransaction> match(const ProducersByPartition& before, const std::vector<ListedTransaction>& known,
                                   const ProducersByPartition& after) {
  std::vector<OpenTransaction> open;
  for (const auto& [partition, found] : before) {
    const size_t first = open.size();
    for (const PartitionProducer& producer : found.producers) {
      if (!producer.has_open_transaction() || !is_same_transaction(producer, after, partition)) continue;
      const ListedTransaction* owner = find_unfinished(known, producer.producer.id);
      open.push_back({partition, producer, owner == nullptr ? std::nullopt : std::optional(*owner)});
    }
    std::ranges::sort(open.begin() + static_cast<std::ptrdiff_t>(first), open.end(), {},
                      [](const OpenTransaction& transaction) { return transaction.producer.transaction_start; });
  }
  return open;
}

Task<OpenTransactions> find_open_transactions(client::ClusterClient& client, std::vector<TopicPartition> partitions) {
  OpenTransactions open;
  const ProducersByPartition before = co_await client::describe_producers(client, std::move(partitions));
  std::vector<TopicPartition> to_look_at;
  std::set<ProducerId> producers;
  for (const auto& [partition, found] : before) {
    if (!found.status.ok()) open.unknown_partitions.push_back(found.status);
    for (const PartitionProducer& producer : found.producers) {
      if (!producer.has_open_transaction()) continue;
      producers.insert(producer.producer.id);
      if (to_look_at.empty() || to_look_at.back() != partition) to_look_at.push_back(partition);
    }
  }
  if (to_look_at.empty()) co_return open;
  std::vector<ListedTransaction> known;
  open.coordinators = co_await check_coordinators(client);
  auto listed =
      co_await client::list_transactions(client, {.states = {}, .producer_ids = {producers.begin(), producers.end()}});
  if (listed) known = std::move(*listed);
  if (!listed) open.coordinators = listed.error();
  const ProducersByPartition after = co_await client::describe_producers(client, std::move(to_look_at));
  open.all = match(before, known, after);
  co_return open;
}

std::string describe_command(std::string_view transactional_id) {
  return with_id("describe", transactional_id);
}

std::string abort_command(std::string_view transactional_id) {
  return with_id("abort", transactional_id);
}

std::string abort_command(const OpenTransaction& hanging) {
  return fmt::format("naru txn abort --topic {} --partition {} --producer-id {}", shell_word(hanging.partition.topic),
                     hanging.partition.partition, hanging.producer.producer.id);
}

std::string producer_text(const ProducerIdentity& producer) {
  return fmt::format("producer {}, epoch {}", producer.id, producer.epoch);
}

Duration age_of(WallTimeMs then, WallTimeMs now) {
  return Milliseconds(std::max<int64_t>(0, now - then));
}

}  // namespace naru::command_line
