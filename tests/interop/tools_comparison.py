"""Kafka's command-line tools on features that are not there, and on configuration: what they print of Naru is what they print of an Apache
Kafka without these features.

What is different by its nature (ports, ids, offsets, times) is made the same first, and so are the words of error messages.
"""

import os
import re
import shutil
import tempfile

import apache_kafka
import judge_differences
import kafka_tools
from naru_process import Broker

ACL = ["--allow-principal", "User:a", "--operation", "Read", "--topic", "t"]


def alter(*entity):
    return ("kafka-configs", "--alter", "--entity-type", *entity)


def alter_and_describe(*entity, keys, remove=True):
    """Sets keys, looks at them, and removes them if they have a default to go back to."""
    names = ",".join(re.findall(r"(?:^|,)([a-z.]+)=", keys))
    describe = ("kafka-configs", "--describe", "--entity-type", *entity)
    yield (*alter(*entity), "--add-config", keys)
    yield describe
    if remove:
        yield (*alter(*entity), "--delete-config", names)
        yield describe


COMMANDS = [
    ("kafka-topics", "--create", "--topic", "t", "--partitions", "1"),
    ("kafka-acls", "--list"),
    ("kafka-acls", "--add", *ACL),
    ("kafka-acls", "--remove", "--force", *ACL),
    ("kafka-configs", "--entity-type", "users", "--describe"),
    ("kafka-configs", "--entity-type", "users", "--entity-name", "a", "--describe"),
    ("kafka-configs", "--entity-type", "users", "--entity-default", "--describe"),
    ("kafka-configs", "--entity-type", "clients", "--describe"),
    ("kafka-configs", "--entity-type", "clients", "--entity-name", "a", "--describe"),
    ("kafka-configs", "--entity-type", "ips", "--describe"),
    ("kafka-configs", "--entity-type", "client-metrics", "--describe"),
    *alter_and_describe("topics", "--entity-name", "t", keys="max.message.bytes=2000000,cleanup.policy=[compact,delete]"),
    *alter_and_describe("brokers", "--entity-name", "1", keys="log.segment.bytes=5000000,message.max.bytes=2000000"),
    *alter_and_describe("brokers", "--entity-default", keys="log.segment.bytes=5000000"),
    *alter_and_describe("broker-loggers", "--entity-name", "1", keys="root=WARN", remove=False),
    *alter_and_describe("broker-loggers", "--entity-name", "1", keys="root=INFO", remove=False),
    *alter_and_describe("groups", "--entity-name", "g", keys="consumer.session.timeout.ms=50000"),
    *alter_and_describe("client-metrics", "--entity-name", "m", keys="interval.ms=60000,metrics=[a.,b.]"),
    (*alter("topics", "--entity-name", "t"), "--add-config", "retention.ms=soon"),
    (*alter("topics", "--entity-name", "t"), "--add-config", "no.such.key=1"),
    (*alter("topics", "--entity-name", "t"), "--delete-config", "retention.ms"),
    (*alter("topics", "--entity-name", "nowhere"), "--add-config", "retention.ms=1000"),
    (*alter("brokers", "--entity-name", "1"), "--add-config", "auto.create.topics.enable=false"),
    (*alter("broker-loggers", "--entity-name", "1"), "--add-config", "no.such.logger=INFO"),
    (*alter("broker-loggers", "--entity-name", "1"), "--delete-config", "root"),
    (*alter("client-metrics", "--entity-name", "m"), "--add-config", "interval.ms=1"),
    ("kafka-features", "describe"),
    ("kafka-features", "upgrade", "--feature", "transaction.version=2"),
    ("kafka-features", "upgrade", "--feature", "transaction.version=3"),
    ("kafka-features", "downgrade", "--feature", "transaction.version=1"),
    ("kafka-metadata-quorum", "describe", "--status"),
    ("kafka-metadata-quorum", "describe", "--replication"),
    ("kafka-reassign-partitions", "--list"),
    ("kafka-cluster", "unregister", "--id", "99"),
]

# In this order.
SAME = [
    (r"(?m)^\tat .*\n", ""),  # stack traces
    (r"([A-Za-z]+Exception): .*", r"\1: <text>"),
    (r"--bootstrap-server 127\.0\.0\.1:\d+", "--bootstrap-server <address>"),
    (r"(Could not \w+ \S+ to \d+)\. .*", r"\1. <text>"),
    # Kafka lowers it, as UpdateFeatures in judge_differences.py tells.
    (r"transaction\.version was downgraded to 1\.\n|Could not downgrade transaction\.version to 1\. <text>\n.*failed\.\n", "<lowered>\n"),
    # Naru has fewer features, and min.insync.replicas is not set for all brokers, as judge_differences.py tells.
    (rf"(?m)^Feature: (?:{judge_differences.ABSENT_FEATURES})\.version\s.*\n", ""),
    (r"(?m)^  min\.insync\.replicas=1 .*\n", ""),
    # Loggers are the components of each; root is one of both.
    (r"(?m)^  (?!root=)[^=\n]+=(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL|OFF) sensitive=.*\n", ""),
    (r"\bEpoch: \d+", "Epoch: <number>"),
    (r"(ClusterId:\s+)\S+", r"\1<id>"),
    (r"((?:LeaderEpoch|HighWatermark):\s+)\d+", r"\1<number>"),
    # Nor has its metadata a folder with an id, or a listener of controllers.
    (r'"directoryId": "\S+", ', ""),
    (r'"(CONTROLLER|PLAINTEXT)://127\.0\.0\.1:\d+"', "<endpoint>"),
    (r"(?m)^(NodeId\s+DirectoryId)\s+", r"\1 "),
    (r"(?m)^1\s+\S{22}\s+\d+\s+0\s+\d+\s+\d+", "1 <id> <offset> 0 <time> <time>"),
]


def normalized(output):
    for pattern, replacement in SAME:
        output = re.sub(pattern, replacement, output)
    return output


class Check:
    """A row of the table of checks."""

    name, version = "answers-tools", apache_kafka.VERSION

    def missing(self):
        return apache_kafka.missing()

    def run(self):
        home = tempfile.mkdtemp(prefix="naru-interop-")
        kafka = apache_kafka.ApacheKafka(os.path.join(home, "kafka"))
        try:
            kafka.start()
            broker = Broker()
            try:
                self.compare(kafka_tools.fetch(self.version), broker.address, kafka.bootstrap, home)
            finally:
                broker.close()
        finally:
            kafka.kill()
            shutil.rmtree(home, ignore_errors=True)
        return ", ".join(dict.fromkeys(command[0] for command in COMMANDS))

    def compare(self, libraries, ours, theirs, home):
        problems = []
        for command in COMMANDS:
            printed = []
            for address in (ours, theirs):
                server = ["--bootstrap-server", address] if command[0] == "kafka-cluster" else []
                printed.append(normalized(kafka_tools.Tools(libraries, address, home).run(*command, *server, fails=None)))
            if printed[0] != printed[1]:
                problems.append(f"{' '.join(command)} prints of Naru:\n{printed[0]}\nand of Apache Kafka:\n{printed[1]}")
        if problems:
            raise RuntimeError("\n".join(problems))
