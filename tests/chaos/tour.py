"""Shows a cluster of three brokers, step by step: what is done, the command that a person would type, and what comes of it. The leader
of a partition is killed while a producer writes to it, and nothing is lost.

    tour.py [--coordination zookeeper|etcd] [--stay]

Every command is run as it is shown, with `naru` and kcat in the path. Exits with 1 if anything is not as it should be.
"""

import argparse
import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from cluster import view_of, wait_until
from machines import Loopback
from services import NARU, PATIENCE_S, Broker, Etcd, ZooKeeper, free_port

TOPIC = "orders"
PARTITIONS = 3
RECORDS = 3000
RATE = 300
BROKERS = 3
END = f"kcat -b $NARU_BOOTSTRAP -Q -t {TOPIC}:0:-1"  # of partition 0
BOLD, DIM, PLAIN = ("\033[1m", "\033[2m", "\033[0m") if sys.stdout.isatty() else ("", "", "")


class Tour:
    def __init__(self, folder, store_name):
        self.folder = folder
        machine = Loopback()
        if store_name == "zookeeper":
            self.store = ZooKeeper(machine, folder, free_port())
        else:
            self.store = Etcd(machine, folder, free_port(), free_port())
        self.brokers = [Broker(number, machine, folder, self.store, free_port(), data=f"data{number}", settings=["naru.admin.listener="])
                        for number in range(1, BROKERS + 1)]
        self.step_number = 0
        self.environment = {**os.environ, "NARU_BOOTSTRAP": ",".join(broker.address for broker in self.brokers), "NO_COLOR": "1",
                            "PATH": f"{os.path.dirname(NARU)}:{os.environ['PATH']}"}

    def step(self, text):
        self.step_number += 1
        print(f"\n{BOLD}{self.step_number}. {text}{PLAIN}", flush=True)

    def show(self, command):
        print(f"{DIM}   $ {command}{PLAIN}", flush=True)

    def answer(self, text):
        for line in text.rstrip("\n").split("\n"):
            print(f"   {line}".rstrip(), flush=True)

    def run(self, command):
        """Shows it, runs it, shows and returns what it prints."""
        self.show(command)
        done = subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, text=True, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=2 * PATIENCE_S)
        self.answer(done.stdout)
        if done.returncode != 0:
            raise RuntimeError(f"that failed with code {done.returncode}")
        return done.stdout

    def start(self, process):
        """In the background, as it is shown."""
        command = [os.path.basename(word) if word == NARU else word for word in process.command()]
        self.show(f"{shlex.join(command)} &")
        process.start()

    def wait(self, what, why_not):
        def why_not_yet():
            for broker in self.brokers:
                if sentence := broker.ended_by_itself():
                    raise RuntimeError(sentence)
            return why_not()

        started = time.monotonic()
        if reason := wait_until(why_not_yet, PATIENCE_S):
            raise RuntimeError(f"{what}: not within {PATIENCE_S} s: {reason}")
        self.answer(f"({what} after {time.monotonic() - started:.1f} s)")

    def views(self):
        """What each broker that runs knows."""
        return {broker.name: view_of(broker) for broker in self.brokers if broker.running}

    def why_not_all_brokers(self):
        for name, view in self.views().items():
            if view is None or len(view.brokers) < len(self.brokers):
                return f"{name} does not know all brokers"
        return None

    def why_not_partitions(self, wanted):
        """A partition of the topic that is not as wanted, for some broker."""
        for name, view in self.views().items():
            for partition in (f"{TOPIC}/{number}" for number in range(PARTITIONS)):
                state = view and view.partitions.get(partition)
                if not state or state.leader not in state.isr or not wanted(state):
                    return f"{partition} is {state} as {name} knows it"
        return None

    def why_not_in_sync(self):
        return self.why_not_partitions(lambda state: state.isr == state.replicas)

    def why_not_without(self, former):
        return self.why_not_partitions(lambda state: former.number not in state.isr)

    def why_not_more_than(self, count):
        done = subprocess.run(["bash", "-c", END], env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S)
        end = done.stdout.split()[-1:]
        return None if end and int(end[0]) > count else f"{done.stdout}{done.stderr}"

    def take(self, stay):
        self.step("A coordination service: brokers agree through it who is there and who decides.")
        self.show(f"cd {self.folder}; export PATH={os.path.dirname(NARU)}:$PATH")
        self.start(self.store)
        self.answer("(it answers)")

        self.step("Three brokers. What makes them a cluster is that they are told the same coordination service.")
        for broker in self.brokers:
            self.start(broker)
        self.wait("all know each other", self.why_not_all_brokers)
        self.show(f"export NARU_BOOTSTRAP={self.environment['NARU_BOOTSTRAP']}")
        self.run("naru cluster status")

        self.step("A topic with three replicas of each partition; two of them have to have a record before it is acknowledged.")
        self.run(f"naru topic create {TOPIC} --partitions {PARTITIONS} --replicas {BROKERS} --config min.insync.replicas=2")
        self.wait("all replicas are in sync", self.why_not_in_sync)
        self.run(f"naru topic describe {TOPIC}")

        self.step(f"A producer writes the numbers from 1 to {RECORDS} to partition 0, {RATE} a second.")
        feed = f"seq {RECORDS} | naru produce {TOPIC} --partition 0 --rate {RATE}"
        self.show(feed + " &")
        producer = subprocess.Popen(["bash", "-c", f"set -o pipefail; {feed}"], cwd=self.folder, env=self.environment,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                    process_group=0)
        try:
            self.kill_the_leader(producer)
        finally:
            if producer.poll() is None:
                os.killpg(producer.pid, signal.SIGKILL)
            producer.communicate()

        self.step("All numbers are there, each once and in order.")
        self.run(f"diff <(seq {RECORDS}) <(kcat -b $NARU_BOOTSTRAP -C -t {TOPIC} -p 0 -e -q) && echo nothing is lost, doubled or out of order")
        if stay:
            self.stay()

    def kill_the_leader(self, producer):
        time.sleep(RECORDS / RATE / 5)
        victim = self.leader_broker()
        self.step(f"While it writes, the leader of partition 0 is killed without a warning: {victim.name}.")
        written = int(self.run(END).split()[-1])
        if not 0 < written < RECORDS:
            raise RuntimeError(f"the producer should be in the middle of {RECORDS} records")
        self.show(f"kill -9 {victim.process.pid}")
        victim.kill()
        self.wait("others lead its partitions", lambda: self.why_not_without(victim))
        self.wait("the producer goes on", lambda: self.why_not_more_than(written))
        self.run(f"naru topic describe {TOPIC}")
        self.run("naru cluster status")

        self.step("The producer has noticed nothing but a delay.")
        self.show("wait")
        told, _ = producer.communicate(timeout=2 * PATIENCE_S)
        self.answer(told)
        if producer.returncode != 0:
            raise RuntimeError(f"the producer has failed with code {producer.returncode}")

        self.step(f"{victim.name} comes back, fetches what it has missed, and is in sync again.")
        self.start(victim)
        self.wait("all replicas are in sync", self.why_not_in_sync)
        self.run(f"naru topic describe {TOPIC}")

    def leader_broker(self):
        number = view_of(self.brokers[0]).partitions[f"{TOPIC}/0"].leader
        return next(broker for broker in self.brokers if broker.number == number)

    def stay(self):
        self.step(f"The cluster stays until Ctrl-C. NARU_BOOTSTRAP={self.environment['NARU_BOOTSTRAP']}")
        with contextlib.suppress(KeyboardInterrupt):
            signal.pause()


def main():
    parser = argparse.ArgumentParser(description="A cluster of three brokers, step by step.", prog="./dev cluster")
    parser.add_argument("--coordination", choices=["zookeeper", "etcd"], default="zookeeper")
    parser.add_argument("--stay", action="store_true", help="let the cluster run until Ctrl-C")
    arguments = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = tempfile.mkdtemp(prefix="naru-cluster-")
    tour = Tour(folder, arguments.coordination)
    try:
        tour.take(arguments.stay)
    except (RuntimeError, subprocess.SubprocessError) as failure:
        print(f"\ncluster: {failure}\nlogs: {folder}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        shutil.rmtree(folder)
        sys.exit(130)
    finally:
        for process in [*tour.brokers, tour.store]:
            process.close()
    shutil.rmtree(folder)
    print("\nEverything is ended and removed again.")


if __name__ == "__main__":
    main()
