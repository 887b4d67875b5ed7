"""The processes that are measured: brokers, floor programs, Redis. Each on a port of its own, with data of its own."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = ROOT / "build" / "bin"
sys.path.insert(0, str(ROOT / "tests" / "system"))
import naru_process  # noqa: E402


def cpu_seconds(pid):
    """Of all threads, from the scheduler: nanoseconds, where /proc/PID/stat counts in hundredths."""
    total = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat") as schedstat:
            total += int(schedstat.read().split()[0])
    return total / 1e9


class Naru(naru_process.Broker):
    def __init__(self, *settings):
        extra = []
        for setting in settings:
            extra += ["--set", setting]
        super().__init__(*extra)

    @property
    def pid(self):
        return self.process.pid

    def create(self, topic, partitions=1, **settings):
        load("create", self.port, topic=topic, partitions=partitions,
             **{name.replace("_", "."): value for name, value in settings.items()})


    def cpu_while_stable(self, verb, **arguments):
        """(what bench_load measured, CPU seconds of the broker from the moment it reports stable groups on)"""
        words = [f"{name}={value}" for name, value in arguments.items()]
        generator = subprocess.Popen([BIN / "bench_load", verb, str(self.port), *words], stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE, text=True)
        first = generator.stderr.readline()
        if first != "stable\n":
            raise RuntimeError(f"bench_load {verb}: {first}{generator.stderr.read()}")
        before = cpu_seconds(self.pid)
        measured, trouble = generator.communicate(timeout=600)
        if generator.returncode != 0:
            raise RuntimeError(f"bench_load {verb}: {trouble}")
        return json.loads(measured), cpu_seconds(self.pid) - before


class Floor:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([BIN / "bench_floor", *map(str, arguments)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.port = int(self.process.stdout.readline().split()[1])
        self.pid = self.process.pid

    def close(self):
        if not self.process.stdin.closed:
            self.process.stdin.close()
            self.process.wait(30)
            self.process.stdout.close()


class Redis:
    """Debian's redis-server. appendfsync: everysec or always."""

    def __init__(self, appendfsync):
        self.home = tempfile.mkdtemp(prefix="naru-bench-redis-")
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.home, "--save", "",
             "--appendonly", "yes", "--appendfsync", appendfsync, "--auto-aof-rewrite-percentage", "0"],
            stdout=subprocess.DEVNULL)
        self.pid = self.process.pid
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError("redis-server did not start")

    def close(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)
        shutil.rmtree(self.home, ignore_errors=True)


def load(verb, port, **arguments):
    """Runs bench_load; what it measured, as a dictionary."""
    words = [f"{name}={value}" for name, value in arguments.items()]
    return run_json([BIN / "bench_load", verb, str(port), *words])


def run_json(command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr}")
    return json.loads(done.stdout)
