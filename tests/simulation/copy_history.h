// What copiers sent and what readers of committed records saw; checks that it fits together.
//
// Copiers copy records from one topic to the next of a chain, partition by partition, in transactions that hold the
// positions as well. So the copies in a topic are, as a sequence, what was committed to the topic before: nothing lost,
// nothing doubled, nothing that was aborted, nothing in another order.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "foundation/ids.h"
#include "simulation/history.h"

namespace naru::simulation {

// What a record is: the number goes along from copy to copy, and each copy names its transaction.
struct CopiedValue {
  static constexpr uint64_t kNoTransaction = 0;  // it was not copied: a source wrote it

  uint64_t number = 0;
  uint64_t transaction = kNoTransaction;

  std::string to_string(size_t padding) const;
  // Of the record: what was committed is the only one of its key, and compaction keeps it.
  std::string key() const { return std::to_string(number); }
  static std::optional<CopiedValue> parse(std::string_view text);
};

class CopyHistory {
 public:
  using Records = std::vector<std::pair<Offset, std::string>>;

  uint64_t new_number() { return ++numbers_; }
  uint64_t new_transaction() { return ++transactions_; }

  // A source wrote it, outside of transactions.
  void source_sent(const PartitionName& partition, const std::string& value) { sources_[value].partition = partition; }
  void source_acknowledged(const std::string& value) { sources_[value].acknowledged = true; }
  // A copier writes it in this transaction; it may be sent more than once.
  void sent(uint64_t transaction, const PartitionName& partition, const std::string& value);
  // From here on readers may see what is in it.
  void commit_asked(uint64_t transaction) { copied_[transaction].commit_asked = true; }
  // The coordinator said so: readers will see all of it.
  void committed(uint64_t transaction);
  // The coordinator said that it was aborted: nobody ever sees any of it.
  void refused(uint64_t transaction) { copied_[transaction].refused = true; }
  // A reader of committed records got it.
  void seen(const PartitionName& partition, Offset offset, const std::string& value);
  // Records at or above the last stable offset are nobody's to read.
  void stable(const PartitionName& partition, Offset last_stable, Offset read_to);

  // In the end, when every copier has come to the end of its topic: all that readers of committed records see.
  void final_content(const PartitionName& partition, const Records& records);
  // After final_content() of each partition; `chain` are the topics in their order.
  void check_chain(const std::vector<std::string>& chain, int partitions);

  const std::optional<std::string>& violation() const { return violation_; }
  size_t commits() const { return commits_; }

 private:
  struct Source {
    PartitionName partition;
    bool acknowledged = false;
  };
  struct Transaction {
    std::map<std::string, PartitionName> values;
    bool commit_asked = false;
    bool committed = false;
    bool refused = false;
  };
  void violated(std::string sentence);
  void check_origin(const PartitionName& partition, Offset offset, const std::string& value);
  void check_sources();
  void check_whole();
  void check_copies(const PartitionName& from, const PartitionName& to);

  uint64_t numbers_ = 0;
  uint64_t transactions_ = 0;
  std::map<std::string, Source> sources_;
  std::map<uint64_t, Transaction> copied_;
  std::map<PartitionName, std::map<Offset, std::string>> seen_;
  std::map<PartitionName, Records> final_;
  size_t commits_ = 0;
  std::optional<std::string> violation_;
};

}  // namespace naru::simulation
