"""What the judge asks. A case gets a Side (judge.py) and yields (label, answer) pairs; it has to leave behind nothing that another case
sees, and to name its topics and groups after itself."""

import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

from raw_client import crc32c, zigzag  # noqa: E402

BROKER, NOBODY = 1, 99
TOPIC_RESOURCE, BROKER_RESOURCE, GROUP_RESOURCE = 2, 4, 32


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
    "features": [acls, sasl, delegation_tokens, client_quotas, scram_credentials, reassignments, quorum, features, unregistering],
    "records": [produce_without_keys, offsets_of_unknown_ids],
    "configuration": [configs_of_topics, configs_of_brokers],
    "topics": [auto_created_topics],
    "last": [unregistering_a_running_broker],
}
