// What a person can type: the commands with their flags, as values. Parsing has no effects.
#pragma once

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "command_line/flag_values.h"

namespace naru::command_line {

using Environment = std::vector<KeyValue>;

// `naru server`. Empty: not given.
struct ServerFlags {
  std::string config_file;       // --config
  std::string data;              // --data
  std::string kafka;             // --kafka
  std::string advertise;         // --advertise
  std::string node_id;           // --node-id
  std::string coordination;      // --coordination
  std::vector<std::string> set;  // --set key=value
};

// Of every command that talks to a cluster.
struct CommonFlags {
  std::vector<Endpoint> bootstrap;
  Duration timeout = 30s;
  bool json = false;
};

struct TopicCreateFlags {
  std::string name;
  int32_t partitions = -1;  // the broker's default
  int16_t replicas = -1;    // likewise
  std::vector<KeyValue> configs;
};
struct TopicListFlags {};
struct TopicDescribeFlags {
  std::vector<std::string> names;
};
struct TopicDeleteFlags {
  std::vector<std::string> names;
};
struct TopicSetPartitionsFlags {
  std::string name;
  int32_t count = 0;
};
struct TopicConfigFlags {
  std::string name;
  std::vector<KeyValue> set;
  std::vector<std::string> remove;
  bool all = false;  // also what nobody set for this topic
};

struct ProduceFlags {
  std::string topic;
  std::optional<PartitionIndex> partition;
  std::string file;           // empty: standard input
  std::string key_separator;  // empty: lines have no keys
  std::vector<KeyValue> headers;
  Acks acks = Acks::all;
  Compression compression = Compression::none;
  double rate = 0;                // records per second; 0: as fast as it goes
  std::optional<uint64_t> count;  // generated records instead of lines
  uint64_t size = 100;            // of a generated record
};

struct ConsumeFlags {
  std::string topic;
  std::vector<PartitionIndex> partitions;  // empty: all
  StartAt from;
  std::optional<uint64_t> count;
  bool follow = false;
  client::Isolation isolation = client::Isolation::read_committed;
  bool keys = false, headers = false, timestamps = false, offsets = false;
  std::string format;  // empty: as the four flags say
};

struct GroupListFlags {
  std::vector<std::string> states;  // empty: all
};
struct GroupDescribeFlags {
  std::string name;
};
struct GroupResetFlags {
  std::string name;
  std::string topic;
  std::vector<PartitionIndex> partitions;  // empty: all
  StartAt to;
  bool dry_run = false;
};
struct GroupDeleteFlags {
  std::vector<std::string> names;
};
struct GroupWhyFlags {
  std::string name;
  // Consumers that commit by themselves do so every five seconds, if nobody changed it.
  Duration watch = 6s;
};

struct TxnListFlags {
  std::vector<std::string> states;  // empty: all
  bool stuck = false;               // only those that do not end by themselves
};
struct TxnDescribeFlags {
  std::string id;
};
struct TxnAbortFlags {
  std::string id;  // empty: a transaction that hangs in a partition
  bool fence = false;
  std::string topic;
  std::optional<PartitionIndex> partition;
  std::optional<ProducerId> producer_id;
};

struct ClusterStatusFlags {};
struct DoctorFlags {
  std::vector<std::string> data;  // folders to look at
};
struct VersionFlags {};

using Command = std::variant<ServerFlags, TopicCreateFlags, TopicListFlags, TopicDescribeFlags, TopicDeleteFlags,
                             TopicSetPartitionsFlags, TopicConfigFlags, ProduceFlags, ConsumeFlags, GroupListFlags,
                             GroupDescribeFlags, GroupResetFlags, GroupDeleteFlags, GroupWhyFlags, TxnListFlags,
                             TxnDescribeFlags, TxnAbortFlags, ClusterStatusFlags, DoctorFlags, VersionFlags>;

struct Arguments {
  CommonFlags common;
  Command command;
};

// Help was asked for (0), or the words make no sense (2).
struct EarlyExit {
  int code = 0;
  std::string output;
  std::string error;
};

inline constexpr std::string_view kBootstrapVariable = "NARU_BOOTSTRAP";

// `words` without the name of the program.
std::expected<Arguments, EarlyExit> parse_arguments(std::span<const std::string> words, const Environment& environment,
                                                    std::string_view version);

}  // namespace naru::command_line
