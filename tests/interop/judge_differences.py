#!/usr/bin/python3
"""Where Naru answers otherwise than Apache Kafka, and why: the only table of it. docs/protocol.md shows it (judge_differences.py --write);
the judge demands that there are no others, and that each of these is found."""

import os
import sys
from dataclasses import dataclass

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "protocol.md")
BEGIN = "<!-- begin: differences; written by tests/interop/judge_differences.py --write -->\n"
END = "<!-- end: differences -->\n"

ABSENT_FEATURES = r"eligible\.leader\.replicas|kraft|metadata|share|streams"  # of what kafka-features prints, too


@dataclass(frozen=True)
class Difference:
    where: str | tuple  # regular expressions for "CASE: LABEL: FIELD", one or several; each begins with ^ and the name of the case
    api: str
    naru: str
    kafka: str
    reason: str

    @property
    def places(self):
        return (self.where,) if isinstance(self.where, str) else self.where


DIFFERENCES = [
    # The APIs.
    Difference(r"^api_versions: .*: api_keys\[(7[6-9]|8[3-7]|9[0-2])\]$", "ApiVersions",
               "none of the APIs of share groups (76-79, 83-87, 90-92)", "all of them", "there are no share groups yet"),
    Difference(r"^api_versions: .*: api_keys\[8[89]\]$", "ApiVersions", "neither StreamsGroupHeartbeat nor StreamsGroupDescribe", "both",
               "there are no Streams groups yet; Kafka Streams uses its classic protocol"),
    Difference(r"^api_versions: .*: api_keys\[8[01]\]$", "ApiVersions", "neither AddRaftVoter nor RemoveRaftVoter", "both",
               "the metadata is in ZooKeeper or etcd, or in the broker's own store: there is no Raft quorum"),
    Difference(r"^api_versions: .*: api_keys\[(34|45)\]$", "ApiVersions", "neither AlterReplicaLogDirs nor AlterPartitionReassignments",
               "both", "moving replicas to other folders or brokers is not built yet"),
    Difference(r"^api_versions: .*: api_keys\[(49|51)\]$", "ApiVersions", "neither AlterClientQuotas nor AlterUserScramCredentials", "both",
               "quotas and SCRAM are not built yet"),
    Difference(r"^api_versions: .*: api_keys\[24\]\.max_version$", "ApiVersions", "AddPartitionsToTxn 0-3", "0-5",
               "from 4 on it is a request between brokers; Naru's brokers have one of their own for this"),
    Difference(r"^api_versions: .*: api_keys\[35\]\.max_version$", "ApiVersions", "DescribeLogDirs 1-4", "1-5",
               "version 5 says which folders are cordoned; here none can be"),
    Difference(r"^api_versions: .*: api_keys\[(8|19|20|32)\]\.min_version$", "ApiVersions",
               "OffsetCommit from 1, CreateTopics, DeleteTopics and DescribeConfigs from 0", "from 2, 2, 1 and 1",
               "older clients still work"),
    Difference((rf"^api_versions: .*: (finalized|supported)_features\[({ABSENT_FEATURES})\.version\]$",
                r"^api_versions: ApiVersions v3, .*: supported_features$"),
               "ApiVersions, `kafka-features describe`", "the features `group.version` and `transaction.version`",
               "`eligible.leader.replicas.version`, `kraft.version`, `metadata.version`, `share.version` and `streams.version` as well",
               "eligible leader replicas, share groups and Streams groups are not built; the metadata has a format of its own, without a level"),
    Difference(r"^api_versions: .*: finalized_features_epoch$", "ApiVersions", "the epoch of the features is 0",
               "the offset of the metadata log", "the levels never change while a broker runs"),

    # Configuration that is shown.
    Difference((r"^configs_of_topics: .*\.configs\[flush\.messages\]\.(value|synonyms\[.*\]\.value)$",
                r"^configs_of_brokers: .*\.configs\[log\.flush\.interval\.messages\]\.(value|synonyms\[.*\]\.value)$"),
               "DescribeConfigs", "`flush.messages` and `log.flush.interval.messages` are 1", "9223372036854775807",
               "an acknowledged record is on disk"),
    Difference((r"^configs_of_brokers: .*\.configs\[log\.retention\.hours\]\.(value|synonyms\[.*\]\.value)$",
                r"^altered_topics: DescribeConfigs .*\.configs\[retention\.ms\]\.value$",
                r"^configs_of_brokers: .*\.configs\[offsets\.retention\.minutes\]\.(value|synonyms\[.*\]\.value)$"),
               "DescribeConfigs", "`log.retention.hours`, and so `retention.ms`, is two weeks; `offsets.retention.minutes` is 30 days",
               "a week each", "a consumer that was stopped for more than a week still finds its records and its offsets"),
    Difference(r"^configs_of_brokers: .*\.configs\[num\.partitions\]\.(value|synonyms\[.*\]\.value)$", "DescribeConfigs",
               "`num.partitions` is 4", "1", "a topic that is created without a number can be read by several members of a group"),
    Difference(r"^configs_of_brokers: .*\.configs\[log\.cleaner\.dedupe\.buffer\.size\]\.(value|synonyms\[.*\]\.value)$", "DescribeConfigs",
               "`log.cleaner.dedupe.buffer.size` is 32 MiB", "128 MiB",
               "a log with more new keys than fit is compacted in several rounds"),
    Difference(r"^configs_of_brokers: .*\.configs\[replica\.selector\.class\]\.", "DescribeConfigs",
               "`replica.selector.class` is `RackAwareReplicaSelector`", "null, which is the leader",
               "only consumers that name their rack are affected, and those want to read in it"),
    Difference(r"^configs_of_brokers: .*\.configs\[group\.coordinator\.rebalance\.protocols\]\.(value|synonyms\[.*\]\.value)$",
               "DescribeConfigs", "`group.coordinator.rebalance.protocols` is `classic,consumer`",
               "`classic,consumer,streams`", "there are no Streams groups yet"),
    Difference((r"^configs_of_topics: .*\.configs\[min\.insync\.replicas\]\.",
               r"^configs_of_brokers: .*\.configs\[min\.insync\.replicas\]"),
               "DescribeConfigs", "`min.insync.replicas` follows the replication factor where it is not set",
               "it is 1, set for all brokers when the cluster is formatted",
               "Kafka's eligible leader replicas need one number for the cluster; here the in-sync set counts only what is on disk"),
    Difference((r"^altered_brokers: .*, a broker, replicas in sync: .*\.error_(code|message)$",
                r"^altered_brokers: AlterConfigs .*, all brokers, (a throttle|a value|nothing): .*\.error_(code|message)$"),
               "AlterConfigs, IncrementalAlterConfigs", "`min.insync.replicas` can be set for one broker, and removed for all of them",
               "`INVALID_CONFIG`, so AlterConfigs for all brokers has to name it",
               "only Kafka's eligible leader replicas forbid it"),
    Difference(r"^configs_of_brokers: .*\.configs\[(advertised\.listeners|listeners|listener\.security\.protocol\.map|controller\.listener\.names|"
               r"controller\.quorum\.bootstrap\.servers)\]\.(value|config_source|synonyms)",
               "DescribeConfigs", "listeners are those of brokers, `advertised.listeners` is shown as the client has reached it, and `listeners` "
               "is by default on 127.0.0.1", "a listener of controllers as well, whose keys have to be set; by default on all addresses",
               "a controller is reached where its broker is; a broker without a configuration is not open to the network"),
    Difference(r"^configs_of_brokers: .*\.configs\[(log\.dirs?|broker\.id|node\.id|process\.roles)\]\.", "DescribeConfigs",
               "`node.id` and `process.roles` have a default; `broker.id` and `log.dir` are other names of `node.id` and `log.dirs`",
               "required, without a default; `log.dir` and `broker.id` are keys with values of their own",
               "a broker starts without a configuration"),
    Difference(r"^configs_of_brokers: .*\.configs\[(num\.network\.threads|offsets\.topic\.replication\.factor|transaction\.state\.log\.min\.isr|"
               r"transaction\.state\.log\.replication\.factor)\]\.synonyms\[.*/5\]$",
               "DescribeConfigs", "replication factors, `min.isr` and `num.network.threads` have no default among their synonyms",
               "3, 2 and 3", "they follow the number of brokers, of replicas and of cores"),
    Difference((r"^configs_of_topics: .*\.synonyms\[log\.(flush\.scheduler\.interval\.ms|retention\.hours|roll\.hours|roll\.jitter\.hours)/5\]$",
                r"^altered_topics: .*\.synonyms\[log\.retention\.hours/5\]$"),
               "DescribeConfigs", "synonyms are also the keys of other units: `log.retention.hours` of `retention.ms`",
               "only keys of the same unit", "every place that can give the value is shown"),
    Difference((r"^configs_of_topics: .*\.configs\[replica\.lag\.max\.messages\]$",
                r"^configs_of_brokers: .*\.configs\[(replica\.lag\.max\.messages|naru\..*)\]$"),
               "DescribeConfigs", "also `replica.lag.max.messages` and `naru.…`", "no such keys", "these are Naru's own"),
    Difference(r"^configs_of_brokers: .*\.configs\[(listeners|listener\.security\.protocol\.map|producer\.id\.expiration\.ms)\]\.read_only$",
               "DescribeConfigs", "`listeners`, `listener.security.protocol.map` and `producer.id.expiration.ms` are read-only",
               "can be changed while the broker runs", "here they are read when the broker starts"),
    Difference(r"^configs_of_topics: .*, of a topic that does not exist: .*\.error_message$", "DescribeConfigs",
               "the message names the topic that does not exist", "the message is empty",
               "it says what to correct"),
    Difference(r"^configs_of_nothing: .*, twice: results\[1\]\.", "DescribeConfigs",
               "a resource that is named again gets `INVALID_REQUEST`",
               "it is described again", "a short request cannot ask for an answer of unbounded length"),

    # Configuration that is changed.
    Difference((r"^altered_topics: .*, a key that does not exist removed: .*\.error_(code|message)$",
                r"^altered_brokers: .*, a key that does not exist removed: .*\.error_(code|message)$"),
               "IncrementalAlterConfigs", "removing a key that does not exist is an error, as setting it", "it succeeds",
               "a mistyped key would go unnoticed"),
    Difference(r"^altered_brokers: .*brokers?, (a key of topics|a key that does not exist|a password of a listener): .*\.error_(code|message)$",
               "AlterConfigs, IncrementalAlterConfigs",
               "a broker refuses keys that it does not know, and keys with the prefix of a listener: "
               "`INVALID_REQUEST`", "stored, and given to plugins", "there are no plugins, and a mistyped key would go unnoticed"),
    Difference(r"^altered_brokers: .*, values that contradict each other: .*\.error_(code|message)$",
               "AlterConfigs, IncrementalAlterConfigs",
               "for brokers, `log.cleaner.min.compaction.lag.ms` above `log.cleaner.max.compaction.lag.ms` gets `INVALID_REQUEST`",
               "stored; only topics are checked", "every topic without values of its own would inherit the contradiction"),
    Difference(r"^altered_topics: .*, (an empty list|subtracted): .*\.error_(code|message)$", "AlterConfigs, IncrementalAlterConfigs",
               "an empty `cleanup.policy` gets `INVALID_CONFIG`", "records are kept for ever",
               "`retention.ms=-1` and `retention.bytes=-1` do that, and say so"),
    Difference(r"^altered_topics: .*, one topic of two: responses\[2/nowhere\]\.error_code$", "IncrementalAlterConfigs",
               "a bad value for a topic that does not exist: `UNKNOWN_TOPIC_OR_PARTITION`", "`INVALID_CONFIG`",
               "there are two errors, and one is reported"),
    Difference(r"^altered_topics: .*, an operation that does not exist: .*\.error_(code|message)$", "IncrementalAlterConfigs",
               "an operation that does not exist gets `INVALID_REQUEST`", "`UNKNOWN_SERVER_ERROR` (-1) for a topic",
               "the request is wrong; the server did not fail"),
    Difference(r"^altered_client_metrics: .*, appended: .*\.error_(code|message)$", "IncrementalAlterConfigs",
               "lists of client metrics can be appended to", "`INVALID_CONFIG`", "they are lists, and described as such by both"),

    # Topics.
    Difference(r"^auto_created_topics: .*, the first answer: ", "Metadata",
               "the answer to a request that creates a topic has its partitions",
               "`UNKNOWN_TOPIC_OR_PARTITION`, and the client asks again",
               "[decision 0012](decisions/0012-metadata-waits-for-a-created-topic.md)"),
    Difference(r"^auto_created_topics: .*, a later answer: .*\.partitions\[[123]\]$", "Metadata",
               "a topic that is made so has 4 partitions",
               "it has 1", "`num.partitions` is 4 by default"),

    # Features that are not there.
    Difference(r"^delegation_tokens: .*: error_code$", "Create-, Renew-, Expire- and DescribeDelegationToken",
               "`DELEGATION_TOKEN_AUTH_DISABLED` (61)", "`DELEGATION_TOKEN_REQUEST_NOT_ALLOWED` (64)",
               "Kafka says that a token needs a listener that authenticates; here there are no tokens on any listener"),
    Difference(r"^quorum: .*, of the metadata: topics.*\.(high_watermark|log_end_offset|leader_epoch)$", "DescribeQuorum",
               "offsets: the number of metadata transactions; epoch: the controller's",
               "offsets: the number of records in the metadata log; epoch: that of Raft", "the metadata is not a log of records"),
    Difference(r"^quorum: .*, of the metadata: topics.*\.replica_directory_id$", "DescribeQuorum", "zero",
               "the id of the folder of the metadata log", "the metadata is not in a data folder"),
    Difference(r"^quorum: .*, of the metadata: nodes.*\.listeners", "DescribeQuorum", "the listener that the client used",
               "the listener of controllers", "a controller is reached where its broker is"),
    Difference(r"^features: UpdateFeatures v[01], .*: results\[.*\]\.error_message$", "UpdateFeatures 0-1", "empty", "the text NONE",
               "there is no error to tell of"),
    Difference(r"^unregistering_a_running_broker: .*: error_(code|message)$", "UnregisterBroker",
               "a running broker is refused: `INVALID_REQUEST`",
               "its registration is removed", "a mistyped number would take leaderships away from a broker that is in use"),
    Difference(r"^features: .*, a level below, as an? (unsafe )?downgrade: ", "UpdateFeatures",
               "`INVALID_UPDATE_VERSION` (95)", "the level is lowered",
               "features are always on, at the level of the version that runs"),
]


def table():
    lines = ["| API | Naru | Apache Kafka 4.3.1 | why |", "| --- | --- | --- | --- |"]
    lines += [f"| {each.api} | {each.naru} | {each.kafka} | {each.reason} |" for each in DIFFERENCES]
    return "".join(line + "\n" for line in lines)


def page_with_table(page):
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


def main():
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    if sys.argv[1:] == ["--write"]:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page_with_table(page))
    elif page != page_with_table(page):
        sys.exit("docs/protocol.md has another table of differences: run tests/interop/judge_differences.py --write")


if __name__ == "__main__":
    main()
