"""Starts Apache Kafka, fetched by Maven: one node, broker and controller in one process, on loopback. What Naru answers is compared
with what it answers."""

import os
import shutil
import signal
import socket
import subprocess
import threading

import toolchain

VERSION = "4.3.1"
CLUSTER_ID = "AAAAAAAAAAAAAAAAAAAAAQ"
START_TIMEOUT_S = 180
STOP_TIMEOUT_S = 120

# A process that lives for minutes and serves few requests.
JAVA = ["java", "-Xms64m", "-Xmx320m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]

# Internal topics have three replicas by default, and there is one broker.
SETTINGS = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
    "inter.broker.listener.name": "PLAINTEXT",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}

LOGGING = """
appenders=console
appender.console.type=Console
appender.console.name=console
appender.console.target=SYSTEM_OUT
appender.console.layout.type=PatternLayout
appender.console.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=INFO
rootLogger.appenderRefs=console
rootLogger.appenderRef.console.ref=console
"""


def missing():
    """What has to be installed before it can be fetched and run, or None."""
    return toolchain.missing({"java": "Java (Debian: openjdk-17-jdk-headless)", "mvn": "Maven (Debian: maven)"})


def fetch(version=VERSION):
    """The folder with its jars."""
    folder = os.path.join(toolchain.CACHE, f"apache-kafka-{version}")
    if not os.path.isdir(folder):
        print(f"    fetching Apache Kafka {version}", flush=True)
        partial = folder + ".partial"
        shutil.rmtree(partial, ignore_errors=True)
        toolchain.execute("mvn", "-q", "-f", "apache_kafka.xml", "dependency:copy-dependencies", f"-Dkafka.version={version}",
                          f"-DoutputDirectory={partial}", folder=os.path.join(toolchain.HERE, "java"))
        os.rename(partial, folder)
    return folder


def free_ports(count):
    """Ports that nobody listened on a moment ago; all are held until the last one is found, so that no two are the same."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports


class ApacheKafka:
    """One node with its data in `folder`, which is made if it is missing. `settings` override those above. A restart keeps ports and
    data. start() returns when the broker serves requests."""

    def __init__(self, folder, settings=None, version=VERSION):
        self.folder = os.path.abspath(folder)
        self.libraries = fetch(version)
        self.port, self.controller_port = free_ports(2)
        self.properties = os.path.join(self.folder, "server.properties")
        self.settings = {
            **SETTINGS,
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{self.port},CONTROLLER://127.0.0.1:{self.controller_port}",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{self.controller_port}",
            "log.dirs": os.path.join(self.folder, "data"),
            **(settings or {}),
        }
        self.lines = []
        self.process = None
        self.reader = None

    @property
    def bootstrap(self):
        return f"127.0.0.1:{self.port}"

    @property
    def log(self):
        return "".join(self.lines)

    def start(self):
        self._format()
        self.process = subprocess.Popen(self._command("kafka.Kafka", self.properties), text=True, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        ready = threading.Event()
        self.reader = threading.Thread(target=self._read, args=(self.process, ready), daemon=True)
        self.reader.start()
        if not ready.wait(START_TIMEOUT_S) or self.process.poll() is not None:
            self.kill()
            raise RuntimeError(f"Apache Kafka did not start:\n{self.log[-4000:]}")

    def stop(self):
        """SIGTERM: it hands over its leaderships and closes its logs. One that does not end is killed."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_TIMEOUT_S)
        finally:
            self.kill()

    def kill(self):
        """SIGKILL, for one that may have ended already."""
        if self.process is None:
            return
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(STOP_TIMEOUT_S)
        self.reader.join(STOP_TIMEOUT_S)
        self.process.stdout.close()
        self.process = None

    def _format(self):
        """Writes the settings, and the first records of the cluster where there are none."""
        os.makedirs(self.folder, exist_ok=True)
        with open(self.properties, "w", encoding="utf-8") as file:
            file.writelines(f"{key}={value}\n" for key, value in self.settings.items())
        with open(os.path.join(self.folder, "log4j2.properties"), "w", encoding="utf-8") as file:
            file.write(LOGGING)
        if os.path.exists(os.path.join(self.settings["log.dirs"].split(",")[0], "meta.properties")):
            return
        toolchain.execute(*self._command("kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER_ID, "--standalone", "--config",
                                         self.properties), folder=self.folder)

    def _command(self, main, *arguments):
        logging = f"-Dlog4j2.configurationFile={os.path.join(self.folder, 'log4j2.properties')}"
        return [*JAVA, logging, "-cp", f"{self.libraries}/*", main, *arguments]

    def _read(self, process, ready):
        """Reads on until the process ends, or it would block on a full pipe."""
        for line in process.stdout:
            self.lines.append(line)
            if "Kafka Server started" in line:
                ready.set()
        ready.set()
