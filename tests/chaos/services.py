"""The processes of a cluster: brokers, and the service that they agree through. Each is started on a machine (machines.py), writes to a
log file, and dies with the process that started it, whatever becomes of that."""

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "system"))

import naru_process  # noqa: E402

NARU = os.path.abspath(naru_process.NARU)
PATIENCE_S = 60
PR_SET_PDEATHSIG = 1
JARS = ["/usr/share/java/zookeeper.jar", "/usr/share/java/slf4j-simple.jar"]
libc = ctypes.CDLL(None)


def die_with_parent():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as sock:
        return sock.getsockname()[1]


class Process:
    """A program with a log. Restarting appends to the log. Only the main thread may start one: it would die with another thread."""

    def __init__(self, name, machine, folder):
        self.name, self.machine, self.folder = name, machine, folder
        self.log = os.path.join(folder, f"{name}.log")
        self.process = None
        self.wanted = False
        os.makedirs(folder, exist_ok=True)

    def command(self):
        raise NotImplementedError

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.machine.inside(self.command()), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, process_group=0, preexec_fn=die_with_parent)
        self.wanted = True

    @property
    def running(self):
        return self.process is not None and self.process.poll() is None

    def ended_by_itself(self):
        """A sentence if it has, else None."""
        if not self.wanted or self.running:
            return None
        return f"{self.name} has ended by itself with code {self.process.returncode}; the end of {self.log}:\n{self.last_words()}"

    def last_words(self, size=1500):
        with open(self.log, "rb") as log:
            log.seek(max(0, os.path.getsize(self.log) - size))
            return log.read().decode(errors="replace")

    def signal(self, number):
        if self.running:
            self.process.send_signal(number)

    def kill(self):
        self.wanted = False
        self.signal(signal.SIGKILL)
        if self.process:
            self.process.wait(PATIENCE_S)

    def pause(self):
        self.signal(signal.SIGSTOP)

    def resume(self):
        self.signal(signal.SIGCONT)

    def terminate(self, patience_s=PATIENCE_S):
        """SIGTERM; the exit code, or None if it has not ended in time and had to be killed."""
        self.wanted = False
        self.signal(signal.SIGTERM)
        try:
            return self.process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self.kill()
            return None

    def close(self):
        self.kill()


class CoordinationService(Process):
    """`url` is what brokers are told, with a path of their own behind it."""

    def start(self):
        super().start()
        deadline = time.monotonic() + PATIENCE_S
        while not self.answers():
            if time.monotonic() > deadline or not self.running:
                raise RuntimeError(f"{self.name} does not answer; the end of {self.log}:\n{self.last_words()}")
            time.sleep(0.05)

    def answers(self):
        raise NotImplementedError


class ZooKeeper(CoordinationService):
    """One node. The tick allows sessions from one second on."""

    TICK_MS = 500

    def __init__(self, machine, folder, port=2181):
        super().__init__("zookeeper", machine, folder)
        self.port = port
        self.url = f"zookeeper://{machine.address}:{port}"
        self.settings = os.path.join(folder, "zoo.cfg")
        with open(self.settings, "w") as file:
            file.write(f"tickTime={self.TICK_MS}\ndataDir={folder}/zookeeper\nclientPort={port}\nclientPortAddress={machine.address}\n"
                       "admin.enableServer=false\n4lw.commands.whitelist=*\n")

    def command(self):
        return ["java", "-Xms64m", "-Xmx256m", "-cp", ":".join(JARS), "org.apache.zookeeper.server.quorum.QuorumPeerMain", self.settings]

    def answers(self):
        """It says that it is well some time before it takes sessions; it has a mode when it does."""
        try:
            with socket.create_connection((self.machine.address, self.port), timeout=1) as sock:
                sock.sendall(b"srvr")
                return b"Mode: " in sock.makefile("rb").read()
        except OSError:
            return False


class Etcd(CoordinationService):
    def __init__(self, machine, folder, port=2379, peer_port=2380):
        super().__init__("etcd", machine, folder)
        self.url = f"etcd://{machine.address}:{port}"
        self.clients = f"http://{machine.address}:{port}"
        self.peers = f"http://{machine.address}:{peer_port}"

    def command(self):
        return ["etcd", "--name", "one", "--data-dir", os.path.join(self.folder, "etcd"), "--listen-client-urls", self.clients,
                "--advertise-client-urls", self.clients, "--listen-peer-urls", self.peers, "--initial-advertise-peer-urls", self.peers,
                "--initial-cluster", f"one={self.peers}"]

    def answers(self):
        try:
            with urllib.request.urlopen(self.clients + "/health", timeout=1) as answer:
                return b"true" in answer.read()
        except (OSError, urllib.error.URLError):
            return False


COORDINATION = {"zookeeper": ZooKeeper, "etcd": Etcd}


class Broker(Process):
    """A broker of a cluster; without a coordination service, one that stands alone. start() does not wait: a broker is there when the
    cluster's metadata says so."""

    def __init__(self, number, machine, folder, coordination=None, port=9092, data=None, settings=()):
        super().__init__(f"broker{number}", machine, folder)
        self.number, self.port, self.coordination, self.settings = number, port, coordination, settings
        self.data = data or os.path.join(folder, f"data{number}")

    @property
    def address(self):
        return f"{self.machine.address}:{self.port}"

    def command(self):
        command = [NARU, "server", "--data", self.data, "--kafka", self.address, "--node-id", str(self.number)]
        if self.coordination:
            command += ["--coordination", f"{self.coordination.url}/naru"]
        for setting in self.settings:
            command += ["--set", setting]
        return command

    def connect(self, timeout_s=2):
        return socket.create_connection((self.machine.address, self.port), timeout=timeout_s)
