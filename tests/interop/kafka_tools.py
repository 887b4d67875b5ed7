"""Kafka's own command-line tools, on a real broker: each has to say what it says on Kafka.

Every tool is a main class of kafka_2.13 or kafka-tools, fetched by Maven. What is compared is what a person reads.
"""

import contextlib
import json
import os
import re
import subprocess
import sys

import dump_log
import toolchain

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))

from naru_process import Broker  # noqa: E402

CLASSES = {
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-producer": "org.apache.kafka.tools.ConsoleProducer",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-groups": "org.apache.kafka.tools.GroupsCommand",
    "kafka-cluster": "org.apache.kafka.tools.ClusterTool",
    "kafka-acls": "org.apache.kafka.tools.AclCommand",
    "kafka-features": "org.apache.kafka.tools.FeatureCommand",
    "kafka-metadata-quorum": "org.apache.kafka.tools.MetadataQuorumCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-broker-api-versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
    "kafka-dump-log": "org.apache.kafka.tools.DumpLogSegments",
}
DUMP_LOG_VERSION = "4.3.1"  # the newest form of what is in the files


def fetch(version):
    libraries = os.path.abspath(os.path.join(HERE, "..", "..", ".cache", "interop", f"kafka-tools-{version}"))
    if not os.path.isdir(libraries):
        subprocess.run(["mvn", "-q", "-f", os.path.join(HERE, "java", "tools.xml"), "dependency:copy-dependencies",
                        f"-Dkafka.version={version}", f"-DoutputDirectory={libraries}"], check=True)
    return libraries


class Tools:
    def __init__(self, libraries, address, home):
        self.libraries, self.address, self.home = libraries, address, home
        self.used = {}  # in the order of their first use

    def command(self, tool, arguments):
        self.used[tool] = True
        # A quick start matters more than fast code: each tool runs for a moment only.
        return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-cp", f"{self.libraries}/*",
                CLASSES[tool], *self.server_of(tool), *arguments]

    @contextlib.contextmanager
    def started(self, tool, *arguments):
        """A tool that runs until it is no longer needed."""
        with subprocess.Popen(self.command(tool, arguments), text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            try:
                yield process
            finally:
                process.kill()

    def run(self, tool, *arguments, feed=None, fails=False):
        """What it prints. `fails`: whether it has to, None if that does not matter."""
        done = subprocess.run(self.command(tool, arguments), input=feed, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        output = done.stdout + "".join(line for line in done.stderr.splitlines(True) if "SLF4J" not in line)
        assert fails is None or (done.returncode != 0) == fails, f"{tool} {' '.join(arguments)}: exit code {done.returncode}\n{output}"
        return output

    def server_of(self, tool):
        return [] if tool in ("kafka-cluster", "kafka-dump-log") else ["--bootstrap-server", self.address]


def expect(output, *patterns):
    for pattern in patterns:
        assert re.search(pattern, output), f"no '{pattern}' in:\n{output}"


def refuse(output, *patterns):
    for pattern in patterns:
        assert not re.search(pattern, output), f"'{pattern}' in:\n{output}"


def topics(tools):
    run = lambda *arguments, **how: tools.run("kafka-topics", *arguments, **how)
    expect(run("--create", "--topic", "orders", "--partitions", "3", "--replication-factor", "1",
               "--config", "retention.ms=86400000"), r"Created topic orders\.")
    expect(run("--create", "--topic", "orders", fails=True), r"[Tt]opic.*orders.*exists")
    expect(run("--create", "--topic", "bad name", fails=True), r"letters, digits|is illegal|invalid")
    expect(run("--create", "--topic", "wide", "--partitions", "1", "--replication-factor", "3", fails=True),
           r"replication factor 3 needs as many brokers, and 1 are there")
    expect(run("--create", "--topic", "odd", "--config", "retention.sm=5", fails=True), r"retention\.sm")
    run("--create", "--topic", "orders", "--if-not-exists")
    expect(run("--list"), r"(?m)^orders$")
    described = run("--describe", "--topic", "orders")
    expect(described, r"Topic: orders\s+TopicId: \S+\s+PartitionCount: 3\s+ReplicationFactor: 1\s+"
                      r"Configs: retention\.ms=86400000", r"Partition: 2\s+Leader: 1\s+Replicas: 1\s+Isr: 1")
    run("--alter", "--topic", "orders", "--partitions", "5")
    expect(run("--describe", "--topic", "orders"), r"PartitionCount: 5", r"Partition: 4\s+Leader: 1")
    expect(run("--alter", "--topic", "orders", "--partitions", "4", fails=True), r"5 partitions.* 4 would not be more")
    expect(run("--describe", "--under-replicated-partitions"), r"^$")
    run("--create", "--topic", "gone", "--partitions", "1")
    run("--delete", "--topic", "gone")
    refuse(run("--list"), r"(?m)^gone$")
    expect(run("--delete", "--topic", "gone", fails=True), r"does not exist")


def configs_of_topics(tools):
    run = lambda *arguments, **how: tools.run("kafka-configs", "--entity-type", "topics", "--entity-name", "orders",
                                              *arguments, **how)
    expect(run("--alter", "--add-config", "max.message.bytes=2000000,cleanup.policy=[compact,delete]"),
           r"Completed updating config for topic orders\.")
    expect(run("--describe"), r"max\.message\.bytes=2000000 .*synonyms=\{DYNAMIC_TOPIC_CONFIG:max\.message\.bytes=2000000, "
                              r"DEFAULT_CONFIG:message\.max\.bytes=1048588\}", r"cleanup\.policy=compact,delete ")
    run("--alter", "--delete-config", "cleanup.policy")
    described = run("--describe")
    refuse(described, r"cleanup\.policy")
    expect(described, r"max\.message\.bytes=2000000", r"retention\.ms=86400000")
    expect(run("--describe", "--all"), r"cleanup\.policy=delete ", r"segment\.bytes=1073741824 sensitive=false")
    expect(run("--alter", "--add-config", "min.compaction.lag.ms=9,max.compaction.lag.ms=8", fails=True),
           r"min\.compaction\.lag\.ms \(9\) cannot be larger than max\.compaction\.lag\.ms \(8\)")
    expect(run("--alter", "--add-config", "retention.ms=soon", fails=True), r"retention\.ms must be an integer")


def configs_of_brokers(tools):
    run = lambda *arguments, **how: tools.run("kafka-configs", "--entity-type", "brokers", *arguments, **how)
    expect(run("--entity-name", "1", "--alter", "--add-config", "log.segment.bytes=5000000"),
           r"Completed updating config for broker 1\.")
    expect(run("--entity-default", "--alter", "--add-config", "log.segment.bytes=4000000,naru.slow.request.ms=2000"),
           r"Completed updating default config for brokers in the cluster")
    expect(run("--entity-name", "1", "--describe"),
           r"log\.segment\.bytes=5000000 .*synonyms=\{DYNAMIC_BROKER_CONFIG:log\.segment\.bytes=5000000, "
           r"DYNAMIC_DEFAULT_BROKER_CONFIG:log\.segment\.bytes=4000000, DEFAULT_CONFIG:log\.segment\.bytes=1073741824\}")
    expect(run("--entity-default", "--describe"), r"naru\.slow\.request\.ms=2000", r"log\.segment\.bytes=4000000")
    expect(run("--entity-name", "1", "--describe", "--all"), r"num\.partitions=4 ",
           r"naru\.slow\.request\.ms=2000 .*DYNAMIC_DEFAULT_BROKER_CONFIG")
    expect(run("--entity-name", "1", "--alter", "--add-config", "num.partitions=9", fails=True),
           r"num\.partitions cannot be changed while the broker runs")
    # A topic without a value of its own has the broker's.
    expect(tools.run("kafka-configs", "--entity-type", "topics", "--entity-name", "orders", "--describe", "--all"),
           r"segment\.bytes=5000000 .*DYNAMIC_BROKER_CONFIG:log\.segment\.bytes=5000000")
    run("--entity-name", "1", "--alter", "--delete-config", "log.segment.bytes")
    run("--entity-default", "--alter", "--delete-config", "log.segment.bytes,naru.slow.request.ms")
    refuse(run("--entity-name", "1", "--describe"), r"log\.segment\.bytes")
    # Keys that are obeyed at run time, and keys that are kept without effect.
    for entity in (["--entity-name", "1"], ["--entity-default"]):
        run(*entity, "--alter", "--add-config", "log.cleaner.threads=2,num.io.threads=9,background.threads=20,metric.reporters=[]")
        expect(run(*entity, "--describe"), r"log\.cleaner\.threads=2 ", r"num\.io\.threads=9 ", r"background\.threads=20 ")
        run(*entity, "--alter", "--delete-config", "log.cleaner.threads,num.io.threads,background.threads,metric.reporters")
        refuse(run(*entity, "--describe"), r"threads=", r"metric\.reporters")
    all_of_it = run("--entity-name", "1", "--describe", "--all")
    expect(all_of_it, r"broker\.id=1 ", r"node\.id=1 ", r"default\.replication\.factor=1 ", r"min\.insync\.replicas=1 ",
           r"ssl\.keystore\.password=null sensitive=true", r"listeners=PLAINTEXT://127\.0\.0\.1:\d+ ", r"log\.dirs=/")
    expect(run("--entity-name", "1", "--alter", "--add-config", "max.connection.creation.rate=10", fails=True),
           r"The rate of new connections is not limited")


def loggers_and_metrics(tools):
    run = lambda kind, *arguments, **how: tools.run("kafka-configs", "--entity-type", kind, *arguments, **how)
    expect(run("broker-loggers", "--entity-name", "1", "--describe"), r"(?m)^\s+root=INFO ", r"(?m)^\s+groups=INFO ")
    run("broker-loggers", "--entity-name", "1", "--alter", "--add-config", "groups=DEBUG")
    expect(run("broker-loggers", "--entity-name", "1", "--describe"), r"(?m)^\s+root=INFO ", r"(?m)^\s+groups=DEBUG ")
    run("broker-loggers", "--entity-name", "1", "--alter", "--delete-config", "groups")
    refuse(run("broker-loggers", "--entity-name", "1", "--describe"), r"DEBUG")
    run("client-metrics", "--entity-name", "all", "--alter", "--add-config", "interval.ms=5000,match=[client_id=a.*]")
    expect(run("client-metrics", "--describe"), r"interval\.ms=5000", r"match=client_id=a\.\*")
    run("client-metrics", "--entity-name", "all", "--alter", "--delete-config", "interval.ms,match")
    refuse(run("client-metrics", "--describe"), r"5000")


def offered(versions, api):
    if re.search(rf"{api}\(\d+\): UNSUPPORTED", versions) or not re.search(rf"{api}\(\d+\)", versions):
        print(f"  not everything is checked: {api} is not offered yet")
        return False
    return True


def configs_of_groups(tools, versions):
    run = lambda *arguments, **how: tools.run("kafka-configs", "--entity-type", "groups", *arguments, **how)
    expect(run("--entity-name", "readers", "--alter", "--add-config", "consumer.session.timeout.ms=50000"),
           r"Completed updating config for group readers\.")
    describes = offered(versions, "ListGroups")  # which the tool asks first
    if describes:
        expect(run("--entity-name", "readers", "--describe"), r"consumer\.session\.timeout\.ms=50000 ")
    expect(run("--entity-name", "readers", "--alter", "--add-config", "consumer.session.timeout.ms=1", fails=True),
           r"consumer\.session\.timeout\.ms must be an integer from 45000 to 60000, not '1'")
    run("--entity-name", "readers", "--alter", "--delete-config", "consumer.session.timeout.ms")
    if describes:
        refuse(run("--entity-name", "readers", "--describe"), r"=50000")


def produce_and_consume(tools):
    feed = "".join(f"key{i}:value{i}\n" for i in range(20))
    tools.run("kafka-console-producer", "--topic", "orders", "--property", "parse.key=true", "--property",
              "key.separator=:", feed=feed)
    offsets = tools.run("kafka-get-offsets", "--topic", "orders")
    counts = {int(p): int(o) for p, o in re.findall(r"(?m)^orders:(\d+):(\d+)$", offsets)}
    assert sum(counts.values()) == 20 and len(counts) == 5, offsets
    fullest = max(counts, key=counts.get)
    expect(tools.run("kafka-get-offsets", "--topic", "orders", "--time", "earliest"), rf"(?m)^orders:{fullest}:0$")
    read = tools.run("kafka-console-consumer", "--topic", "orders", "--partition", str(fullest), "--offset", "earliest",
                     "--max-messages", str(counts[fullest]), "--timeout-ms", "30000", "--property", "print.key=true",
                     "--property", "key.separator=:")
    lines = [line for line in read.splitlines() if line.startswith("key")]
    assert len(lines) == counts[fullest] and set(lines) <= set(feed.split()), read
    return fullest, counts[fullest], sum(counts.values())


def consumer_groups(tools, count):
    """`count`: how many records "orders" has, all of which a group reads before it is looked at and changed."""
    run = lambda *arguments, **how: tools.run("kafka-consumer-groups", *arguments, **how)
    read = tools.run("kafka-console-consumer", "--topic", "orders", "--group", "readers", "--from-beginning", "--max-messages",
                     str(count), "--timeout-ms", "60000")
    assert len([line for line in read.splitlines() if line.startswith("value")]) == count, read
    expect(run("--list"), r"(?m)^readers$")
    expect(run("--list", "--state"), r"(?m)^readers\s+.*Empty\s*$")
    expect(run("--list", "--state", "Empty"), r"(?m)^readers\s")
    refuse(run("--list", "--state", "Stable"), r"readers")
    expect(run("--list", "--type"), r"(?im)^readers\s+classic")
    expect(tools.run("kafka-groups", "--list"), r"(?m)^readers\s+Classic\s+consumer")
    lags = lambda output: {int(p): (int(o), int(end), int(lag)) for p, o, end, lag in
                           re.findall(r"(?m)^readers\s+orders\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)", output)}
    described = run("--describe", "--group", "readers")
    expect(described, r"Consumer group 'readers' has no active members\.")
    at = lags(described)
    assert len(at) == 5 and sum(offset for offset, _, _ in at.values()) == count, described
    assert all(lag == 0 for _, _, lag in at.values()), described
    expect(run("--describe", "--group", "readers", "--state"), r"readers\s+127\.0\.0\.1:\d+\s+\(1\)\s+.*Empty\s+.*0")
    expect(run("--describe", "--group", "readers", "--members"), r"has no active members")
    expect(run("--describe", "--group", "nobody"), r"GroupIdNotFoundException: there is no such group")
    reset = ["--reset-offsets", "--group", "readers", "--topic", "orders"]
    expect(run(*reset, "--to-earliest", "--dry-run"), r"(?m)^readers\s+orders\s+\d\s+0\s")
    assert lags(run("--describe", "--group", "readers")) == at, "a dry run changes nothing"
    run(*reset, "--to-earliest", "--execute")
    described = run("--describe", "--group", "readers")
    assert all(offset == 0 and lag == end for offset, end, lag in lags(described).values()), described
    run(*reset, "--to-latest", "--execute")
    assert lags(run("--describe", "--group", "readers")) == at
    run(*reset, "--shift-by", "-1", "--execute")
    run(*reset, "--to-datetime", "2000-01-01T00:00:00.000", "--execute")
    described = run("--describe", "--group", "readers")
    assert all(offset == 0 for offset, _, _ in lags(described).values()), described
    deleted = run("--delete-offsets", "--group", "readers", "--topic", "orders")
    expect(deleted, r"Request succeeded for deleting offsets", r"(?m)^orders\s+0\s+Successful")
    assert not lags(run("--describe", "--group", "readers"))
    expect(run("--delete", "--group", "readers"), r"Deletion of requested consumer groups \('readers'\) was successful")
    refuse(run("--list"), r"readers")


def groups_with_members(tools):
    """While somebody reads, the group is shown with its member, and cannot be changed."""
    run = lambda *arguments, **how: tools.run("kafka-consumer-groups", *arguments, **how)
    with tools.started("kafka-console-consumer", "--topic", "orders", "--group", "watchers", "--from-beginning") as consumer:
        consumer.stdout.readline()  # it has its partitions
        described = run("--describe", "--group", "watchers")
        expect(described, r"(?m)^watchers\s+orders\s+4\s+.*console-consumer-\S+\s+/127\.0\.0\.1\s+console-consumer\s*$")
        expect(run("--describe", "--group", "watchers", "--members", "--verbose"),
               r"(?m)^watchers\s+console-consumer-\S+\s+/127\.0\.0\.1\s+console-consumer\s+5\s+.*orders(\(0,1,2,3,4\)|:0,1,2,3,4)")
        expect(run("--describe", "--group", "watchers", "--state"), r"(?m)^watchers\s.*range\s+Stable\s+.*1\s*$")
        expect(run("--reset-offsets", "--group", "watchers", "--topic", "orders", "--to-earliest", "--execute", fails=None),
               r"Assignments can only be reset if the group 'watchers' is inactive")
        expect(run("--delete", "--group", "watchers", fails=None), r"(?i)not empty|non.?empty")
        expect(run("--delete-offsets", "--group", "watchers", "--topic", "orders", fails=None), r"GroupSubscribedToTopicException")


def sizes(tools):
    output = tools.run("kafka-log-dirs", "--describe", "--topic-list", "orders")
    described = json.loads(next(line for line in output.splitlines() if line.startswith("{")))
    folder = described["brokers"][0]["logDirs"][0]
    assert folder["error"] is None, output
    partitions = {entry["partition"]: entry for entry in folder["partitions"]}
    assert len(partitions) == 5 and all(entry["offsetLag"] == 0 for entry in partitions.values()), output
    assert sum(entry["size"] for entry in partitions.values()) > 0, output


def delete_records(tools, partition, count):
    path = os.path.join(tools.home, "delete.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"version": 1, "partitions": [{"topic": "orders", "partition": partition, "offset": count}]}, file)
    expect(tools.run("kafka-delete-records", "--offset-json-file", path), rf"low_watermark: {count}")
    expect(tools.run("kafka-get-offsets", "--topic", "orders", "--time", "earliest"), rf"(?m)^orders:{partition}:{count}$")


def cluster(tools):
    expect(tools.run("kafka-cluster", "cluster-id", "--bootstrap-server", tools.address), r"Cluster ID: \S{22}")
    expect(tools.run("kafka-cluster", "list-endpoints", "--bootstrap-server", tools.address), r"(?m)^1\s+127\.0\.0\.1")
    versions = tools.run("kafka-broker-api-versions")
    refuse(versions, r"(Metadata|CreatePartitions|DescribeConfigs|IncrementalAlterConfigs)\(\d+\): UNSUPPORTED")
    return versions


def check(version, broker):
    tools = Tools(fetch(version), broker.address, broker.home)
    versions = cluster(tools)
    topics(tools)
    configs_of_topics(tools)
    tools.run("kafka-configs", "--entity-type", "topics", "--entity-name", "orders", "--alter", "--delete-config",
              "max.message.bytes")
    configs_of_brokers(tools)
    loggers_and_metrics(tools)
    configs_of_groups(tools, versions)
    partition, count, total = produce_and_consume(tools)
    consumer_groups(tools, total)
    groups_with_members(tools)
    sizes(tools)
    if offered(versions, "DeleteRecords"):
        delete_records(tools, partition, count)
    return tools.used


class Check:
    """The row of the tools in the table of checks."""

    name, version = "kafka-tools", "4.1.0"

    def missing(self):
        return toolchain.missing({"java": "Java (Debian: openjdk-17-jdk-headless)", "mvn": "Maven (Debian: maven)"})

    def run(self):
        broker = Broker()
        try:
            used = check(self.version, broker)
            expect(f"exit code {broker.terminate()}", "^exit code 0$")
        finally:
            broker.close()
        dump_log.run(lambda broker: Tools(fetch(DUMP_LOG_VERSION), broker.address, broker.home))
        return ", ".join([*used, "kafka-dump-log"])
