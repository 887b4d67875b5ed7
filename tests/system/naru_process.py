"""Starts the broker's binary for a test, and talks to it in raw bytes where a test needs to."""

import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time

NARU = os.environ.get("NARU", os.path.join(os.path.dirname(__file__), "..", "..", "build", "bin", "naru"))
PATIENCE_S = 60


class Broker:
    """A broker in a data folder of its own. Restarting keeps folder and port."""

    def __init__(self, *extra, data=None, admin="", limits=None, environment=None):
        self.home = tempfile.mkdtemp(prefix="naru-test-")
        self.data = data or os.path.join(self.home, "data")
        self.extra = list(extra)
        self.admin = admin
        self.limits = limits or {}
        self.environment = environment or {}
        self.port = 0
        self.lines = []
        self.process = None
        self.start()

    def start(self):
        command = [NARU, "server", "--data", self.data, "--kafka", f"127.0.0.1:{self.port}",
                   "--set", f"naru.admin.listener={self.admin}", *self.extra]
        if self.process:
            self.reader.join(PATIENCE_S)
            self.process.stderr.close()
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=self._limit,
                                        env={**os.environ, **self.environment})
        for line in self.process.stderr:
            self.lines.append(line)
            ready = re.search(r" ready: PLAINTEXT://127\.0\.0\.1:(\d+)", line)
            if ready:
                self.port = int(ready.group(1))
                break
        else:
            raise RuntimeError("the broker did not start:\n" + "".join(self.lines))
        # The pipe is read on, or the broker would block on a full one.
        self.reader = threading.Thread(target=lambda: self.lines.extend(self.process.stderr), daemon=True)
        self.reader.start()

    def _limit(self):
        for kind, value in self.limits.items():
            resource.setrlimit(kind, (value, value))

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def log(self):
        return "".join(self.lines)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE_S)

    def terminate(self):
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(PATIENCE_S)
        self.reader.join(PATIENCE_S)
        return code

    def close(self):
        if self.process.poll() is None:
            self.kill()
        self.reader.join(PATIENCE_S)
        self.process.stderr.close()
        shutil.rmtree(self.home, ignore_errors=True)

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat") as stat:
            fields = stat.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_bytes(self):
        with open(f"/proc/{self.process.pid}/statm") as statm:
            return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)


def wait_until(condition, what, broker):
    """Looks again and again until it is true: for what nobody tells a client."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {PATIENCE_S} s\n{broker.log}")
        time.sleep(0.05)


def kcat(broker, *arguments, stdin=None, check=True):
    """kcat's standard output, as bytes."""
    done = subprocess.run(["kcat", "-b", broker.address, "-q", *arguments], input=stdin, capture_output=True,
                          timeout=PATIENCE_S)
    if check and done.returncode != 0:
        raise RuntimeError(f"kcat {' '.join(arguments)}: {done.stderr.decode()}\n{broker.log}")
    return done.stdout


def frame(api, version, body, correlation=1, client=b"test"):
    """A request with the old header (not flexible)."""
    content = struct.pack(">hhih", api, version, correlation, len(client)) + client + body
    return struct.pack(">i", len(content)) + content


def read_exactly(sock, count):
    data = b""
    while len(data) < count:
        part = sock.recv(count - len(data))
        if not part:
            raise EOFError(f"closed after {len(data)} of {count} bytes")
        data += part
    return data


def read_frame(sock):
    (size,) = struct.unpack(">i", read_exactly(sock, 4))
    return read_exactly(sock, size)


def is_closed(sock):
    """Whether the broker closes the connection, without sending anything more."""
    try:
        return sock.recv(1) == b""
    except ConnectionResetError:
        return True
