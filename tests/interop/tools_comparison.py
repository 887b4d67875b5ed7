"""Kafka's command-line tools on features that are not there: what they print of Naru is what they print of an Apache Kafka without them.

What is different by its nature (ports, ids, offsets, times) is made the same first, and so are the words of error messages.
"""

import os
import re
import shutil
import tempfile

import apache_kafka
import kafka_tools
from naru_process import Broker

ACL = ["--allow-principal", "User:a", "--operation", "Read", "--topic", "t"]
COMMANDS = [
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
    (r"(Could not \w+ \S+ to \d+)\. .*", r"\1. <text>"),
    # Kafka lowers it, as UpdateFeatures in judge_differences.py tells.
    (r"transaction\.version was downgraded to 1\.\n|Could not downgrade transaction\.version to 1\. <text>\n.*failed\.\n", "<lowered>\n"),
    # Naru has fewer features: those of Kafka's own metadata, of share groups and of Streams groups are not there.
    (r"(?m)^Feature: (?!group\.version|transaction\.version).*\n", ""),
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
        for command in COMMANDS:
            printed = []
            for address in (ours, theirs):
                server = ["--bootstrap-server", address] if command[0] == "kafka-cluster" else []
                printed.append(normalized(kafka_tools.Tools(libraries, address, home).run(*command, *server, fails=None)))
            if printed[0] != printed[1]:
                raise RuntimeError(f"{' '.join(command)} prints of Naru:\n{printed[0]}\nand of Apache Kafka:\n{printed[1]}")
