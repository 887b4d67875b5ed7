"""What the judge asks. A case gets a Side (judge.py) and yields (label, answer) pairs; it has to leave behind nothing that another case
sees, and to name its topics and groups after itself."""

import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from raw_client import crc32c, zigzag  # noqa: E402

BROKER, NOBODY = 1, 99
TOPIC_RESOURCE, BROKER_RESOURCE, LOGGER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE = 2, 4, 8, 16, 32
OWN_SOURCES = {TOPIC_RESOURCE: {1}, BROKER_RESOURCE: {2, 3}, LOGGER_RESOURCE: {6}, CLIENT_METRICS_RESOURCE: {7}, GROUP_RESOURCE: {8}}
SET, REMOVE, APPEND, SUBTRACT = range(4)  # what IncrementalAlterConfigs does with a key


def each_version(side, api, label, at_least=0, **fields):
    """The same request in every version that both sides speak. Fields of some versions only are given as name__4=value: from 4 on."""
    for version in side.versions(api, at_least):
        values = {}
        for name, value in fields.items():
            name, _, first = name.partition("__")
            if version >= int(first or 0):
                values[name] = value
        yield f"{api} v{version}, {label}", side.call(api, version, **values)


# 3. Features that are not there.

def acls(side):
    acl = {"resource_type": 2, "resource_name": "t", "principal": "User:a", "host": "*", "operation": 3, "permission_type": 3}
    any_acl = {"resource_type_filter": 2, "resource_name_filter": "t", "principal_filter": None, "host_filter": None, "operation": 1,
               "permission_type": 1}
    yield from each_version(side, "DescribeAcls", "of a topic", **any_acl)
    yield from each_version(side, "DescribeAcls", "an operation that does not exist", **{**any_acl, "operation": 99})
    yield from each_version(side, "CreateAcls", "none", creations=[])
    yield from each_version(side, "CreateAcls", "two", creations=[acl, {**acl, "resource_name": "u"}])
    yield from each_version(side, "CreateAcls", "nonsense", creations=[{**acl, "principal": "nobody"}, {**acl, "operation": 99}])
    yield from each_version(side, "DeleteAcls", "none", filters=[])
    yield from each_version(side, "DeleteAcls", "the same twice", filters=[any_acl, any_acl])
    yield from each_version(side, "DeleteAcls", "nonsense", filters=[{**any_acl, "permission_type": 77}])


def sasl(side):
    yield from each_version(side, "SaslHandshake", "PLAIN", mechanism="PLAIN")
    yield from each_version(side, "SaslHandshake", "a mechanism that does not exist", mechanism="nonsense")
    yield from each_version(side, "SaslAuthenticate", "anything", auth_bytes=b"\0user\0password")


def delegation_tokens(side):
    yield from each_version(side, "CreateDelegationToken", "for itself", renewers=[], max_lifetime_ms=-1)
    yield from each_version(side, "RenewDelegationToken", "one that does not exist", hmac=b"none", renew_period_ms=1000)
    yield from each_version(side, "ExpireDelegationToken", "one that does not exist", hmac=b"none", expiry_time_period_ms=1000)
    yield from each_version(side, "DescribeDelegationToken", "all", owners=None)
    yield from each_version(side, "DescribeDelegationToken", "of one owner",
                            owners=[{"principal_type": "User", "principal_name": "a"}])


def client_quotas(side):
    exact, default, any_specified = 0, 1, 2
    component = lambda kind, match_type, match: {"entity_type": kind, "match_type": match_type, "match": match}
    filters = {
        "all": [],
        "of every user": [component("user", any_specified, None)],
        "of one user": [component("user", exact, "a")],
        "of the default client": [component("client-id", default, None)],
        "of a client of a user": [component("user", exact, "a"), component("client-id", exact, "b")],
        "of an address": [component("ip", exact, "10.0.0.1")],
        "an exact match without a name": [component("user", exact, None)],
        "a default with a name": [component("user", default, "a")],
        "anything specified with a name": [component("user", any_specified, "a")],
        "a type of match that does not exist": [component("user", 7, "a")],
        "a type of entity that does not exist": [component("planet", exact, "a")],
        "a type of entity without a name": [component("", exact, "a")],
        "a type twice": [component("user", exact, "a"), component("user", exact, "b")],
        "an address of a user": [component("ip", exact, "10.0.0.1"), component("user", exact, "a")],
    }
    for label, components in filters.items():
        yield from each_version(side, "DescribeClientQuotas", label, components=components, strict=True)


def scram_credentials(side):
    users = lambda *names: [{"name": name} for name in names]
    for label, wanted in {"all": None, "of nobody": [], "of two users": users("a", "b"), "one twice": users("a", "b", "a"),
                          "one three times": users("a", "a", "a"), "without a name": users("")}.items():
        yield from each_version(side, "DescribeUserScramCredentials", label, users=wanted)


def reassignments(side):
    side.create_topic("reassignments", 2)
    for label, topics in {"all": None, "of no topic": [], "of a topic": [{"name": "reassignments", "partition_indexes": [0, 1]}],
                          "of a partition that does not exist": [{"name": "reassignments", "partition_indexes": [7]}],
                          "of a topic that does not exist": [{"name": "nowhere", "partition_indexes": [0]}]}.items():
        yield from each_version(side, "ListPartitionReassignments", label, topics=topics)


def quorum(side):
    topic = lambda name, *partitions: {"topic_name": name, "partitions": [{"partition_index": each} for each in partitions]}
    requests = {
        "of the metadata": [topic("__cluster_metadata", 0)],
        "of nothing": [],
        "of no partition": [topic("__cluster_metadata")],
        "of another partition": [topic("__cluster_metadata", 1)],
        "of two partitions": [topic("__cluster_metadata", 0, 1)],
        "of another topic": [topic("nowhere", 0)],
        "of another topic as well": [topic("__cluster_metadata", 0), topic("nowhere", 0)],
    }
    for label, topics in requests.items():
        yield from each_version(side, "DescribeQuorum", label, topics=topics)


def features(side):
    """Only checked, so that Kafka goes on to have what it has."""
    upgrade, safe_downgrade, unsafe_downgrade = 1, 2, 3
    update = lambda name, level, kind=upgrade: {"feature": name, "max_version_level": level, "upgrade_type": kind}
    requests = {
        "nothing": [],
        "the level that holds": [update("transaction.version", 2)],
        "the level that holds, twice": [update("transaction.version", 2), update("transaction.version", 2)],
        "the levels that hold": [update("transaction.version", 2), update("group.version", 1)],
        "the level that holds, as a downgrade": [update("transaction.version", 2, safe_downgrade)],
        "a level above": [update("transaction.version", 3)],
        "a level below": [update("transaction.version", 1)],
        "a level below, as a downgrade": [update("transaction.version", 1, safe_downgrade)],
        "a level below, as an unsafe downgrade": [update("group.version", 0, unsafe_downgrade)],
        "a negative level": [update("transaction.version", -1)],
        "a type of upgrade that does not exist": [update("transaction.version", 2, 9)],
        "a feature that does not exist": [update("no.feature", 1)],
        "its removal": [update("no.feature", 0, safe_downgrade)],
        "one that can be and one that cannot": [update("transaction.version", 2), update("no.feature", 1)],
    }
    for label, updates in requests.items():
        yield from each_version(side, "UpdateFeatures", label, at_least=1, timeout_ms=30000, feature_updates=updates, validate_only=True)
    level = lambda value, may_fall: [{"feature": "transaction.version", "max_version_level": value, "allow_downgrade": may_fall}]
    if 0 in side.versions("UpdateFeatures"):  # which has no way only to check
        yield "UpdateFeatures v0, the level that holds", side.call("UpdateFeatures", 0, feature_updates=level(2, False))
        yield "UpdateFeatures v0, a level above", side.call("UpdateFeatures", 0, feature_updates=level(3, False))


def unregistering(side):
    yield from each_version(side, "UnregisterBroker", "one that never was", broker_id=NOBODY)
    yield from each_version(side, "UnregisterBroker", "a negative id", broker_id=-1)


def unregistering_a_running_broker(side):
    """After which Kafka cannot be used any more: no case may follow."""
    yield "UnregisterBroker v0, a running broker", side.call("UnregisterBroker", 0, broker_id=BROKER)


def api_versions(side):
    """Which APIs there are, and in which versions."""
    software = {"client_software_name__3": "judge", "client_software_version__3": "1"}
    yield from each_version(side, "ApiVersions", "all", **software)
    for label, name in {"without a name": "", "a name that is not allowed": "the judge"}.items():
        yield from each_version(side, "ApiVersions", label, **{**software, "client_software_name__3": name})


# 1. Produce names every bad record.

def compacted_batch(count, without_key):
    records = b""
    for delta in range(count):
        key, value = (b"" if delta in without_key else b"key"), b"value"
        body = b"\0" + zigzag(0) + zigzag(delta) + zigzag(-1 if delta in without_key else len(key)) + key
        body += zigzag(len(value)) + value + zigzag(0)
        records += zigzag(len(body)) + body
    covered = struct.pack(">hiqqqhii", 0, count - 1, 1700000000000, 1700000000000, -1, -1, -1, count) + records
    return struct.pack(">qiibI", 0, 9 + len(covered), -1, 2, crc32c(covered)) + covered


def produce_without_keys(side):
    topic = "produce_without_keys"
    topic_id = side.create_topic(topic, cleanup_policy="compact")
    for label, missing in {"no key at 2, 5 and 7": {2, 5, 7}, "no key at all": set(range(10)), "no key at the end": {9}}.items():
        partitions = [{"index": 0, "records": compacted_batch(10, missing)}]
        for version in side.versions("Produce", at_least=3):
            name = {"topic_id": topic_id} if version >= 13 else {"name": topic}
            yield f"Produce v{version}, {label}", side.call("Produce", version, acks=-1, timeout_ms=30000,
                                                            topic_data=[{**name, "partition_data": partitions}])


# 2. OffsetFetch.

def offsets_of_unknown_ids(side):
    side.coordinate("offsets_of_unknown_ids")
    known = side.create_topic("offsets_of_unknown_ids", 2)
    first, second = bytes([1] * 16), bytes([2] * 16)
    wanted = lambda *topics: [{"group_id": "offsets_of_unknown_ids", "topics": [
        {"topic_id": topic, "partition_indexes": partitions} for topic, partitions in topics]}]
    for label, groups in {"two unknown ids": wanted((first, [0]), (second, [0, 1])),
                          "between known ones": wanted((first, [0]), (known, [0, 1]), (second, [3]))}.items():
        yield from each_version(side, "OffsetFetch", label, at_least=10, groups=groups)


# 4. Configuration.

def configs_of_topics(side):
    side.create_topic("configs_of_topics", retention_ms="86400000")
    resource = {"resource_type": TOPIC_RESOURCE, "resource_name": "configs_of_topics", "configuration_keys": None}
    yield from each_version(side, "DescribeConfigs", "of a topic", resources=[resource], include_synonyms__1=True)
    yield from each_version(side, "DescribeConfigs", "of a topic that does not exist",
                            resources=[{**resource, "resource_name": "nowhere"}])
    yield from each_version(side, "DescribeConfigs", "one key and one that does not exist",
                            resources=[{**resource, "configuration_keys": ["retention.ms", "no.such.key"]}])


def configs_of_brokers(side):
    resource = {"resource_type": BROKER_RESOURCE, "resource_name": str(BROKER), "configuration_keys": None}
    yield from each_version(side, "DescribeConfigs", "of a broker", resources=[resource], include_synonyms__1=True)
    yield from each_version(side, "DescribeConfigs", "of all brokers", resources=[{**resource, "resource_name": ""}],
                            include_synonyms__1=True)
    yield from each_version(side, "DescribeConfigs", "of another broker", resources=[{**resource, "resource_name": str(NOBODY)}])
    yield from each_version(side, "DescribeConfigs", "of no broker", resources=[{**resource, "resource_name": "nonsense"}])


def configs_of_loggers(side):
    resource = {"resource_type": LOGGER_RESOURCE, "resource_name": str(BROKER), "configuration_keys": ["root"]}
    yield from each_version(side, "DescribeConfigs", "the level of root", resources=[resource], include_synonyms__1=True)
    for label, name in {"of all brokers": "", "of another broker": str(NOBODY), "of no broker": "nonsense"}.items():
        yield from each_version(side, "DescribeConfigs", label, resources=[{**resource, "resource_name": name}])
    yield from each_version(side, "DescribeConfigs", "of a logger that does not exist",
                            resources=[{**resource, "configuration_keys": ["no.such.logger"]}])


def configs_of_groups(side):
    """Nobody has to be in a group for it to have a configuration."""
    resource = {"resource_type": GROUP_RESOURCE, "resource_name": "configs_of_groups", "configuration_keys": None}
    yield from each_version(side, "DescribeConfigs", "of a group", resources=[resource], include_synonyms__1=True)
    yield from each_version(side, "DescribeConfigs", "one key and one that does not exist",
                            resources=[{**resource, "configuration_keys": ["consumer.session.timeout.ms", "no.such.key"]}])
    yield from each_version(side, "DescribeConfigs", "an empty list of keys", resources=[{**resource, "configuration_keys": []}])
    yield from each_version(side, "DescribeConfigs", "with documentation", resources=[resource], include_documentation__3=True)
    yield from each_version(side, "DescribeConfigs", "of a group without a name", resources=[{**resource, "resource_name": ""}])


def configs_of_client_metrics(side):
    resource = {"resource_type": CLIENT_METRICS_RESOURCE, "resource_name": "configs_of_client_metrics", "configuration_keys": None}
    yield from each_version(side, "DescribeConfigs", "of a subscription that does not exist", resources=[resource],
                            include_synonyms__1=True)
    yield from each_version(side, "DescribeConfigs", "of one without a name", resources=[{**resource, "resource_name": ""}])


def configs_of_nothing(side):
    for kind in (0, 1, 3, 64, 127):
        resource = {"resource_type": kind, "resource_name": "1"}
        yield from each_version(side, "DescribeConfigs", f"of type {kind}", resources=[{**resource, "configuration_keys": None}])
        yield from alterations(side, f"of type {kind}", kind, "1", {"a": [("a", "1")]})
    twice = {"resource_type": BROKER_RESOURCE, "resource_name": str(BROKER), "configuration_keys": ["num.io.threads"]}
    yield from each_version(side, "DescribeConfigs", "twice", resources=[twice, twice])


def alterable(kind, name, changes):
    """A resource of IncrementalAlterConfigs; a change is (key, value), which sets it, or (key, value, operation)."""
    configs = [{"name": key, "value": value, "config_operation": operation[0] if operation else SET}
               for key, value, *operation in changes]
    return {"resource_type": kind, "resource_name": name, "configs": configs}


def replaced(kind, name, changes):
    """The same of AlterConfigs, which has no operations."""
    return {"resource_type": kind, "resource_name": name, "configs": [{"name": key, "value": value} for key, value in changes]}


def alterations(side, what, kind, name, requests):
    """Each request is only checked, so that it changes nothing; what has no operations goes to AlterConfigs as well."""
    for label, changes in requests.items():
        yield from each_version(side, "IncrementalAlterConfigs", f"{what}, {label}", resources=[alterable(kind, name, changes)],
                                validate_only=True)
        if all(len(change) == 2 for change in changes):
            yield from each_version(side, "AlterConfigs", f"{what}, {label}", resources=[replaced(kind, name, changes)],
                                    validate_only=True)


def altered(side, kind, name, steps):
    """Each step is a label, changes, and what is set afterwards; the configuration is compared when both sides have come to that."""
    keys = sorted({change[0] for _, changes, _ in steps for change in changes})
    version = max(side.versions("DescribeConfigs"))
    resource = {"resource_type": kind, "resource_name": name, "configuration_keys": keys}
    own_sources = OWN_SOURCES[kind]

    def is_set():
        configs = side.ask("DescribeConfigs", version, resources=[resource]).results[0].configs
        return {each.name: each.value for each in configs if each.config_source in own_sources}

    for label, changes, expected in steps:
        for number in side.versions("IncrementalAlterConfigs"):
            yield f"IncrementalAlterConfigs v{number}, {label}", side.call("IncrementalAlterConfigs", number,
                                                                          resources=[alterable(kind, name, changes)])
        side.wait(lambda: is_set() == expected, f"{label}: {expected}")
        yield f"DescribeConfigs v{version}, {label}", side.call("DescribeConfigs", version, resources=[resource], include_synonyms=True)


def altered_topics(side):
    topic = "altered_topics"
    side.create_topic(topic)
    requests = {
        "nothing": [],
        "a value": [("retention.ms", "1000")],
        "a value with spaces around it": [("retention.ms", " 1000 ")],
        "two values": [("retention.ms", "1000"), ("max.message.bytes", "2000000")],
        "no number": [("retention.ms", "soon")],
        "a number that is too small": [("retention.ms", "-2")],
        "a number that is too large": [("max.message.bytes", "9223372036854775807")],
        "a word that does not exist": [("cleanup.policy", "shred")],
        "an empty list": [("cleanup.policy", "")],
        "a word twice": [("cleanup.policy", "delete,delete")],
        "no truth": [("preallocate", "maybe")],
        "no value": [("retention.ms", None)],
        "a key that does not exist": [("no.such.key", "1")],
        "a key of brokers": [("num.io.threads", "4")],
        "a key without a name": [("", "1")],
        "a key twice": [("retention.ms", "1000"), ("retention.ms", "2000")],
        "one good and one bad": [("retention.ms", "1000"), ("no.such.key", "1")],
        "values that contradict each other": [("min.compaction.lag.ms", "9"), ("max.compaction.lag.ms", "8")],
        "tiered storage": [("remote.storage.enable", "true")],
        "throttled replicas": [("leader.replication.throttled.replicas", "*")],
        "throttled replicas that are none": [("leader.replication.throttled.replicas", "everyone")],
        "a key that is not set removed": [("retention.ms", None, REMOVE)],
        "a key that does not exist removed": [("no.such.key", None, REMOVE)],
        "appended": [("cleanup.policy", "compact", APPEND)],
        "what is there appended": [("cleanup.policy", "delete", APPEND)],
        "a word that does not exist appended": [("cleanup.policy", "shred", APPEND)],
        "appended to a number": [("retention.ms", "1", APPEND)],
        "nothing appended": [("cleanup.policy", None, APPEND)],
        "subtracted": [("cleanup.policy", "delete", SUBTRACT)],
        "what is not there subtracted": [("cleanup.policy", "compact", SUBTRACT)],
        "an operation that does not exist": [("retention.ms", "1000", 7)],
    }
    yield from alterations(side, "a topic", TOPIC_RESOURCE, topic, requests)
    for label, name in {"a topic that does not exist": "nowhere", "a topic without a name": "",
                        "a name that is not allowed": "no such"}.items():
        yield from alterations(side, label, TOPIC_RESOURCE, name, {"a value": [("retention.ms", "1000")]})
    good, bad = (alterable(TOPIC_RESOURCE, topic, [("retention.ms", value)]) for value in ("1000", "soon"))
    yield from each_version(side, "IncrementalAlterConfigs", "a topic twice", resources=[good, bad], validate_only=True)
    yield from each_version(side, "IncrementalAlterConfigs", "one topic of two", resources=[good, {**bad, "resource_name": "nowhere"}],
                            validate_only=True)
    yield from altered(side, TOPIC_RESOURCE, topic, [
        ("set", [("retention.ms", "1000"), ("cleanup.policy", "compact,delete")],
         {"retention.ms": "1000", "cleanup.policy": "compact,delete"}),
        ("subtracted", [("cleanup.policy", "delete", SUBTRACT)], {"retention.ms": "1000", "cleanup.policy": "compact"}),
        ("removed", [("retention.ms", None, REMOVE)], {"cleanup.policy": "compact"}),
    ])


def altered_brokers(side):
    requests = {
        "nothing": [],
        "a value": [("log.segment.bytes", "5000000")],
        "no number": [("log.segment.bytes", "many")],
        "a number that is too small": [("num.io.threads", "0")],
        "a word that does not exist": [("log.cleanup.policy", "shred")],
        "no value": [("log.segment.bytes", None)],
        "a key that is only read at the start": [("auto.create.topics.enable", "false")],
        "the identity": [("node.id", "2")],
        "a key that does not exist": [("no.such.key", "1")],
        "a key of topics": [("retention.ms", "1000")],
        "a key twice": [("log.segment.bytes", "5000000"), ("log.segment.bytes", "6000000")],
        "values that contradict each other": [("log.cleaner.min.compaction.lag.ms", "9"), ("log.cleaner.max.compaction.lag.ms", "8")],
        "a password": [("ssl.key.password", "secret")],
        "a password of a listener": [("listener.name.plaintext.ssl.key.password", "secret")],
        "listeners": [("listeners", "PLAINTEXT://127.0.0.1:1")],
        "replicas in sync": [("min.insync.replicas", "2")],
        "a throttle": [("leader.replication.throttled.rate", "1000000")],
        "a key that is not set removed": [("log.segment.bytes", None, REMOVE)],
        "a key that is only read at the start removed": [("auto.create.topics.enable", None, REMOVE)],
        "a key that does not exist removed": [("no.such.key", None, REMOVE)],
        "appended": [("log.cleanup.policy", "compact", APPEND)],
        "appended to a number": [("log.segment.bytes", "1", APPEND)],
        "an operation that does not exist": [("log.segment.bytes", "5000000", 7)],
    }
    for what, name in {"a broker": str(BROKER), "all brokers": ""}.items():
        yield from alterations(side, what, BROKER_RESOURCE, name, requests)
    for what, name in {"another broker": str(NOBODY), "a negative broker": "-1", "no broker": "nonsense"}.items():
        yield from alterations(side, what, BROKER_RESOURCE, name, {"a value": [("log.segment.bytes", "5000000")]})
    for what, name in {"a broker": str(BROKER), "all brokers": ""}.items():
        yield from altered(side, BROKER_RESOURCE, name, [
            (f"{what}, set", [("log.segment.bytes", "5000000"), ("log.cleanup.policy", "compact,delete")],
             {"log.segment.bytes": "5000000", "log.cleanup.policy": "compact,delete"}),
            (f"{what}, removed", [("log.segment.bytes", None, REMOVE), ("log.cleanup.policy", None, REMOVE)], {}),
        ])


def altered_loggers(side):
    requests = {level: [("root", level)] for level in ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL", "OFF", "debug", "LOUD", "")}
    requests |= {
        "nothing": [],
        "no value": [("root", None)],
        "the level of root removed": [("root", None, REMOVE)],
        "appended": [("root", "INFO", APPEND)],
        "a logger that does not exist": [("no.such.logger", "INFO")],
        "a logger twice": [("root", "INFO"), ("root", "WARN")],
    }
    yield from alterations(side, "the loggers of a broker", LOGGER_RESOURCE, str(BROKER), requests)
    for what, name in {"of all brokers": "", "of another broker": str(NOBODY), "of no broker": "nonsense"}.items():
        yield from alterations(side, f"the loggers {what}", LOGGER_RESOURCE, name, {"INFO": [("root", "INFO")]})
    yield from altered(side, LOGGER_RESOURCE, str(BROKER), [("less", [("root", "WARN")], {"root": "WARN"}),
                                                            ("as before", [("root", "INFO")], {"root": "INFO"})])


def altered_groups(side):
    group = "altered_groups"
    requests = {
        "nothing": [],
        "a value": [("consumer.session.timeout.ms", "50000")],
        "no number": [("consumer.session.timeout.ms", "soon")],
        "below what brokers allow": [("consumer.session.timeout.ms", "1")],
        "above what brokers allow": [("consumer.session.timeout.ms", "5000000")],
        "a session shorter than a heartbeat": [("consumer.session.timeout.ms", "45000"), ("consumer.heartbeat.interval.ms", "46000")],
        "a key of share groups": [("share.session.timeout.ms", "50000")],
        "a key of Streams groups": [("streams.session.timeout.ms", "50000")],
        "a key that does not exist": [("no.such.key", "1")],
        "no value": [("consumer.session.timeout.ms", None)],
        "a key that is not set removed": [("consumer.session.timeout.ms", None, REMOVE)],
        "appended to a number": [("consumer.session.timeout.ms", "1", APPEND)],
    }
    yield from alterations(side, "a group", GROUP_RESOURCE, group, requests)
    yield from alterations(side, "a group without a name", GROUP_RESOURCE, "", {"a value": [("consumer.session.timeout.ms", "50000")]})
    yield from altered(side, GROUP_RESOURCE, group, [
        ("set", [("consumer.session.timeout.ms", "50000")], {"consumer.session.timeout.ms": "50000"}),
        ("removed", [("consumer.session.timeout.ms", None, REMOVE)], {}),
    ])


def altered_client_metrics(side):
    name = "altered_client_metrics"
    requests = {
        "nothing": [],
        "metrics": [("metrics", "org.apache.kafka.producer.,org.apache.kafka.consumer.")],
        "all metrics": [("metrics", "*")],
        "no metrics": [("metrics", "")],
        "an interval": [("interval.ms", "60000")],
        "an interval that is too short": [("interval.ms", "99")],
        "an interval that is too long": [("interval.ms", "3600001")],
        "no number": [("interval.ms", "soon")],
        "a match": [("match", "client_software_name=kafka.*,client_id=.*")],
        "a match of nothing": [("match", "")],
        "a match without a value": [("match", "client_id")],
        "a match that no client has": [("match", "planet=earth")],
        "a match that is no expression": [("match", "client_id=[")],
        "a key that does not exist": [("no.such.key", "1")],
        "no value": [("interval.ms", None)],
        "a key that is not set removed": [("interval.ms", None, REMOVE)],
        "appended": [("metrics", "org.apache.kafka.producer.", APPEND)],
        "appended to a number": [("interval.ms", "1", APPEND)],
    }
    yield from alterations(side, "a subscription", CLIENT_METRICS_RESOURCE, name, requests)
    yield from alterations(side, "one without a name", CLIENT_METRICS_RESOURCE, "", {"an interval": [("interval.ms", "60000")]})
    yield from altered(side, CLIENT_METRICS_RESOURCE, name, [
        ("set", [("interval.ms", "60000"), ("metrics", "a.,b.")], {"interval.ms": "60000", "metrics": "a.,b."}),
        ("removed", [("interval.ms", None, REMOVE), ("metrics", None, REMOVE)], {}),
    ])


def config_resources(side):
    names = {TOPIC_RESOURCE: "config_resources", GROUP_RESOURCE: "config_resources", CLIENT_METRICS_RESOURCE: "config_resources"}
    keys = {GROUP_RESOURCE: ("consumer.session.timeout.ms", "50000"), CLIENT_METRICS_RESOURCE: ("interval.ms", "60000")}
    side.create_topic(names[TOPIC_RESOURCE])
    set_or_removed = lambda operation: [alterable(kind, names[kind], [(key, value if operation == SET else None, operation)])
                                        for kind, (key, value) in keys.items()]
    listed = lambda *kinds: {each.resource_name for each in side.ask("ListConfigResources", 1, resource_types=list(kinds)).config_resources}
    side.ask("IncrementalAlterConfigs", 1, resources=set_or_removed(SET))
    side.wait(lambda: all("config_resources" in listed(kind) for kind in names), "what has a configuration is listed")
    yield from each_version(side, "ListConfigResources", "all")
    for kind in (TOPIC_RESOURCE, BROKER_RESOURCE, LOGGER_RESOURCE, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, 0, 3, 64, 127):
        yield from each_version(side, "ListConfigResources", f"of type {kind}", at_least=1, resource_types=[kind])
    yield from each_version(side, "ListConfigResources", "of two types", at_least=1, resource_types=[BROKER_RESOURCE, GROUP_RESOURCE])
    yield from each_version(side, "ListConfigResources", "of a type that does not exist as well", at_least=1,
                            resource_types=[BROKER_RESOURCE, 64])
    yield from each_version(side, "ListConfigResources", "of a type twice", at_least=1, resource_types=[BROKER_RESOURCE, BROKER_RESOURCE])
    side.ask("IncrementalAlterConfigs", 1, resources=set_or_removed(REMOVE))
    side.wait(lambda: "config_resources" not in listed(GROUP_RESOURCE, CLIENT_METRICS_RESOURCE), "what has none is not")


# 4. Transactions are listed.

def listed_transactions(side):
    topic, idle, ongoing = "listed_transactions", "listed_transactions-idle", "listed_transactions-ongoing"
    side.create_topic(topic)
    producers = {name: side.producer(name) for name in (idle, ongoing)}
    added = side.ask("AddPartitionsToTxn", 3, transactional_id=ongoing, producer_id=producers[ongoing].producer_id,
                     producer_epoch=producers[ongoing].producer_epoch,
                     topics=[{"name": topic, "partitions": [0]}])
    if added.results_by_topic[0].results_by_partition[0].partition_error_code != 0:
        raise RuntimeError(f"{ongoing}: {added}")

    def listed(label, **filters):
        for name, answer in each_version(side, "ListTransactions", label, **filters):
            for transaction in answer.get("transaction_states", []):
                name_of = {producer.producer_id: f"<producer of {each}>" for each, producer in producers.items()}
                transaction["producer_id"] = name_of[transaction["producer_id"]]
            yield name, answer

    yield from listed("all")
    for states in (["Ongoing"], ["Empty"], ["Empty", "Ongoing"], ["CompleteCommit"], ["Dead"], ["ongoing"], ["No such state"],
                   ["No such state", "Ongoing"], [""]):
        yield from listed(f"in {states}", state_filters=states)
    yield from listed("of a producer", producer_id_filters=[producers[ongoing].producer_id])
    yield from listed("of a producer that does not exist", producer_id_filters=[10**15])
    for duration in (-2, -1, 0, 3600000, 2**63 - 1):
        yield from listed(f"for longer than {duration} ms", at_least=1, duration_filter=duration)
    yield from listed("of a state, for longer than an hour", at_least=1, duration_filter=3600000, state_filters=["Empty"])
    for pattern in (".*-idle", "idle", "", None, "["):
        yield from listed(f"that match {pattern}", at_least=2, transactional_id_pattern=pattern)


# 7. Topics that are made because somebody asks for them.

def auto_created_topics(side):
    """The first answer, and the one that comes when the topic is there."""
    for version in side.versions("Metadata", at_least=4):
        name = f"auto_created_topics-{version}"
        ask = lambda: side.ask("Metadata", version, topics=[{"name": name}], allow_auto_topic_creation=True).topics
        yield f"Metadata v{version}, the first answer", topic_without_id(side, ask())
        side.wait(lambda: side.has_leaders(name), name)
        yield f"Metadata v{version}, a later answer", topic_without_id(side, ask())
        refused = side.ask("Metadata", version, topics=[{"name": f"no such {name}"}], allow_auto_topic_creation=True).topics
        yield f"Metadata v{version}, a name that is not allowed", topic_without_id(side, refused)


def topic_without_id(side, topics):
    """Without what is another one for each version and each side, but whether it has an id."""
    for topic in topics:
        topic.name = "<name>"
        if hasattr(topic, "topic_id"):
            topic.topic_id = "some" if any(topic.topic_id) else "none"
    return side.symbolic(topics)


GROUPS = {
    "features": [api_versions, acls, sasl, delegation_tokens, client_quotas, scram_credentials, reassignments, quorum, features,
                 unregistering],
    "records": [produce_without_keys, offsets_of_unknown_ids, listed_transactions],
    "configuration": [configs_of_topics, configs_of_brokers, configs_of_loggers, configs_of_groups, configs_of_client_metrics,
                      configs_of_nothing, altered_topics, altered_brokers, altered_loggers, altered_groups, altered_client_metrics,
                      config_resources],
    "topics": [auto_created_topics],
    "last": [unregistering_a_running_broker],
}
