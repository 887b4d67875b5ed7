"""The stock clients: how each program is built, and what the client cannot do."""

import dataclasses
import os
from typing import Callable

import scenario
from toolchain import PYTHON, built, environment, execute, missing, older

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


@dataclasses.dataclass(frozen=True)
class Client:
    name: str
    version: str
    program: Callable[[], list]  # builds it if need be; the command that all arguments are appended to
    tools: dict  # command -> what to install if it is absent
    too_old: Callable[[], str | None] = lambda: None
    codecs: tuple = CODECS
    consumes: bool = True  # without a consumer group
    idempotent: bool = True
    sessions: bool = False  # fetches in sessions
    strategies: tuple = ("range",)  # how it shares a group's partitions; "consumer" is the protocol in which the broker does
    differences: tuple = ()  # sentences for docs/compatibility.md

    def missing(self):
        return missing(self.tools) or self.too_old()

    def run(self):
        return scenario.run(self)


def python(name, version, folder, **limits):
    def program():
        place = environment(folder)
        return [os.path.join(place, "venv", "bin", "python"), os.path.join(place, "client.py")]
    return Client(name, version, program, PYTHON, **limits)


def java(version):
    def program():
        def build(folder):
            execute("mvn", "-q", "dependency:copy-dependencies", f"-Dkafka.version={version}", "-DoutputDirectory=libraries",
                    folder=folder)
            execute("javac", "-cp", "libraries/*", "-d", "classes", "Client.java", folder=folder)
        folder = built(f"java-{version}", "java", build, version)
        return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{folder}/libraries/*:{folder}/classes", "Client"]
    strategies = ("range", "cooperative-sticky") + (() if version.startswith("2.") else ("consumer",))
    return Client(f"java-{version}", version, program,
                  {"javac": "a JDK (Debian: openjdk-17-jdk-headless)", "mvn": "Maven (Debian: maven)"}, sessions=True,
                  strategies=strategies)


def go(name, version, **limits):
    def program():
        folder = built("go", "go", lambda folder: execute("go", "build", "-o", "bin/", "./...", folder=folder))
        return [os.path.join(folder, "bin", name)]
    hint = "go 1.26 or newer"
    return Client(name, version, program, {"go": hint},
                  lambda: f"needs {hint}" if older(["go", "version"], (1, 26)) else None, **limits)


def kafkajs():
    folder = built("kafkajs", "kafkajs", lambda folder: execute("npm", "ci", "--ignore-scripts", folder=folder))
    return ["node", os.path.join(folder, "client.js")]


def rdkafka():
    folder = built("rdkafka", "rdkafka", lambda folder: execute("cargo", "build", folder=folder))
    return [os.path.join(folder, "target", "debug", "naru_interop")]


CARGO = "cargo 1.85 or newer"

CLIENTS = [
    python("confluent", "2.16.1", "confluent", strategies=("range", "cooperative-sticky", "consumer")),
    python("aiokafka", "0.14.0", "aiokafka", strategies=("range", "roundrobin"),
           differences=("`aiokafka`: it changes configurations by the older AlterConfigs, which takes back all keys that it does not name.",)),
    python("kafka-python", "3.0.12", "kafka_python", sessions=True, strategies=("range", "roundrobin")),
    *[java(version) for version in ("2.8.2", "3.9.1", "4.1.0", "4.4.0")],
    go("franz", "1.22.2", sessions=True, strategies=("range", "cooperative-sticky")),
    go("sarama", "1.61.1"),
    go("kafkago", "0.4.51", idempotent=False,
       differences=("`kafkago`: it has no idempotent producer, so records may be there twice after a `kill -9`; none is lost.",)),
    Client("kafkajs", "2.2.4", kafkajs, {"node": "Node.js (Debian: nodejs)", "npm": "npm (Debian: npm)"}, consumes=False,
           strategies=("roundrobin",),
           differences=("`kafkajs`: of the packages for lz4 beside it, `lz4js` writes linked blocks, which Kafka and Naru refuse.",)),
    Client("rdkafka", "0.39.0", rdkafka, {"cargo": CARGO, "cmake": "cmake", "pkg-config": "pkg-config"},
           lambda: f"needs {CARGO}" if older(["cargo", "--version"], (1, 85)) else None,
           strategies=("range", "cooperative-sticky")),
]
