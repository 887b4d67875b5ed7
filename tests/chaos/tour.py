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
RECORDS = 2000
BROKERS = 3
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

    def view(self):
        return next((view for broker in self.brokers if broker.running and (view := view_of(broker))), None)

    def why_not_all_brokers(self):
        for broker in self.brokers:
            view = view_of(broker)
            if view is None or len(view.brokers) < len(self.brokers):
                return f"{broker.name} does not know all brokers; the end of its log:\n{broker.last_words()}"
        return None

    def why_not_in_sync(self):
        """A partition without a leader or without all replicas."""
        view = self.view()
        for name, partition in view.partitions.items() if view else {"nothing": None}.items():
            if partition is None or partition.leader not in partition.isr or partition.isr != partition.replicas:
                return f"{name}: {partition}"
        return None

    def why_no_other_leader(self, former):
        view = self.view()
        partition = view and view.partitions[f"{TOPIC}/0"]
        if not partition or partition.leader in (-1, former.number) or former.number in partition.isr:
            return f"{TOPIC}/0: {partition}"
        return None

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
        self.run(f"naru topic create {TOPIC} --partitions 3 --replicas 3 --config min.insync.replicas=2")
        self.wait("all replicas are in sync", self.why_not_in_sync)
        self.run(f"naru topic describe {TOPIC}")

        self.step(f"A producer writes the numbers from 1 to {RECORDS} to partition 0, one after the other.")
        feed = (f"for i in $(seq {RECORDS}); do echo $i; sleep 0.002; done | kcat -b $NARU_BOOTSTRAP -P -t {TOPIC} -p 0 -X acks=all "
                "-X enable.idempotence=true -X linger.ms=2")
        self.show(feed + " &")
        producer = subprocess.Popen(["bash", "-c", f"set -o pipefail; {feed}"], cwd=self.folder, env=self.environment,
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                    start_new_session=True)
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
        time.sleep(1)
        victim = self.leader_broker()
        self.step(f"While it writes, the leader of partition 0 is killed without a warning: {victim.name}.")
        self.show(f"kill -9 {victim.process.pid}")
        victim.kill()
        self.wait("another replica leads", lambda: self.why_no_other_leader(victim))
        self.run(f"naru topic describe {TOPIC}")
        self.run("naru cluster status")

        self.step("The producer has noticed nothing but a delay.")
        self.show("wait")
        _, complaints = producer.communicate(timeout=2 * PATIENCE_S)
        if producer.returncode != 0:
            raise RuntimeError(f"the producer has failed: {complaints}")
        self.answer("(it has ended with code 0: every record is acknowledged)")

        self.step(f"{victim.name} comes back, fetches what it has missed, and is in sync again.")
        self.start(victim)
        self.wait("all replicas are in sync", self.why_not_in_sync)
        self.run(f"naru topic describe {TOPIC}")

    def leader_broker(self):
        number = self.view().partitions[f"{TOPIC}/0"].leader
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
    finally:
        for process in [*tour.brokers, tour.store]:
            process.close()
    shutil.rmtree(folder)
    print("\nEverything is ended and removed again.")


if __name__ == "__main__":
    main()
