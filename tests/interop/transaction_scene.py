"""What the checks of transactions share: brokers that are killed and stopped, Java programs that are, and what is printed by whom."""

import contextlib
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading

from toolchain import built, execute, missing

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[1:1] = [os.path.join(HERE, "..", "system"), os.path.join(HERE, "..", "chaos")]

from confluent_kafka import Producer  # noqa: E402
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402
from cluster import view_of, wait_until  # noqa: E402
from machines import Loopback  # noqa: E402
from scenario import require  # noqa: E402
import services  # noqa: E402
from transactions_test import BACKOFF  # noqa: E402

PATIENCE_S = 60
SETTINGS = ["naru.admin.listener=", "naru.journal.bytes=8388608", "naru.coordination.session.timeout.ms=3000",
            "offsets.topic.num.partitions=4", "transaction.state.log.num.partitions=4", "group.initial.rebalance.delay.ms=0",
            "group.consumer.session.timeout.ms=6000", "group.consumer.heartbeat.interval.ms=500"]

OPEN_STATES = ("Ongoing", "PrepareCommit", "PrepareAbort")


def needs(brokers):
    """What has to be installed, or None."""
    tools = {"javac": "a JDK (Debian: openjdk-17-jdk-headless)", "mvn": "Maven (Debian: maven)"}
    return missing(tools | ({"etcd": "etcd (Debian: etcd-server)"} if brokers > 1 else {}))


def java(folder, version, main, library="kafka", options=()):
    """The command of a Java program in a folder beside this file, built with a version of a library if need be. The folder may have no
    sources, where the libraries are the program."""
    def build(place):
        execute("mvn", "-q", "dependency:copy-dependencies", f"-D{library}.version={version}", "-DoutputDirectory=libraries", folder=place)
        sources = sorted(name for name in os.listdir(place) if name.endswith(".java"))
        if sources:
            execute("javac", "-cp", "libraries/*", "-d", "classes", *sources, folder=place)
    place = built(f"{folder}-{version}", folder, build, version)
    return ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx512m", *options, "-cp",
            f"{place}/libraries/*:{place}/classes", main]


def chance():
    """The generator of a run, with its seed. INTEROP_SEED repeats the decisions of an earlier run."""
    seed = int(os.environ.get("INTEROP_SEED") or random.randrange(1 << 32))
    print(f"    seed {seed}", flush=True)
    return random.Random(seed)


class Program:
    """A process whose lines are kept in `lines`. Whoever waits on `news` is told of each, and of its end."""

    def __init__(self, command, news):
        self.news, self.lines, self.complaints, self.open = news, [], [], True
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.listeners = [threading.Thread(target=self._listen, args=each, daemon=True)
                          for each in [(self.process.stdout, self.lines), (self.process.stderr, self.complaints)]]
        for each in self.listeners:
            each.start()

    def _listen(self, stream, heard):
        for line in stream:
            if not line.endswith("\n"):
                break  # cut off by being killed
            with self.news:
                heard.append(line[:-1])
                self.news.notify_all()
        with self.news:
            if heard is self.lines:
                self.open = False
            self.news.notify_all()

    def count(self, line):
        return self.lines.count(line)

    def kill(self):
        self.process.kill()
        return self._end(PATIENCE_S)

    def leave(self):
        """Ends in order; its exit code."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            return self._end(2 * PATIENCE_S)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"a program does not end; it has told {self.lines[-5:]}\n{self.last_words()}") from None

    def terminate(self):
        """SIGTERM; its exit code."""
        self.process.terminate()
        return self._end(2 * PATIENCE_S)

    def _end(self, patience_s):
        code = self.process.wait(patience_s)
        for each in self.listeners:
            each.join(PATIENCE_S)
        return code

    def last_words(self):
        return "\n".join(self.complaints)[-3000:]

    def close(self):
        if self.process.poll() is None:
            self.kill()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


class Source:
    """Writes texts to the partitions of a topic in turn, as far as it is told to."""

    def __init__(self, bootstrap, topic, texts, partitions):
        self.client = Producer({"bootstrap.servers": bootstrap, "log_level": 0, "enable.idempotence": True,
                                "queue.buffering.max.messages": 2 * len(texts), **BACKOFF})
        self.topic, self.texts, self.partitions = topic, texts, partitions
        self.written = 0

    def write(self, end):
        end = max(self.written, min(len(self.texts), end))
        for number in range(self.written, end):
            self.client.produce(self.topic, self.texts[number], partition=number % self.partitions)
            self.client.poll(0)
        require(self.client.flush(PATIENCE_S) == 0, f"the records of {self.topic} could not be written")
        self.written = end


class Scene:
    """Brokers (one that stands alone, or a cluster on etcd) and programs; close() ends and removes everything."""

    def __init__(self, brokers):
        self.news = threading.Condition()
        self.undo = contextlib.ExitStack()
        self.folder = tempfile.mkdtemp(prefix="naru-interop-")
        self.undo.callback(shutil.rmtree, self.folder, ignore_errors=True)
        with contextlib.ExitStack() as failed:
            failed.callback(self.close)
            machine, store = Loopback(), None
            if brokers > 1:
                store = self.keep(services.Etcd(machine, self.folder, services.free_port(), services.free_port()))
                store.start()
            self.brokers = [self.keep(services.Broker(number, machine, self.folder, store, services.free_port(), settings=SETTINGS))
                            for number in range(1, brokers + 1)]
            for broker in self.brokers:
                broker.start()
            self.wait_whole()
            failed.pop_all()

    def keep(self, thing):
        self.undo.callback(thing.close)
        return thing

    def close(self):
        self.undo.close()

    @property
    def bootstrap(self):
        return ",".join(broker.address for broker in self.brokers)

    def run(self, command):
        return self.keep(Program(command, self.news))

    def create_topics(self, names, partitions):
        admin = AdminClient({"bootstrap.servers": self.bootstrap})
        for made in admin.create_topics([NewTopic(name, partitions, len(self.brokers)) for name in names]).values():
            made.result(PATIENCE_S)

    def naru(self, *words):
        done = subprocess.run([services.NARU, *words, "--bootstrap", self.bootstrap, "--json"], capture_output=True, text=True,
                              timeout=2 * PATIENCE_S)
        require(done.returncode == 0, f"naru {' '.join(words)} failed:\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout)

    # --- Brokers -----------------------------------------------------------------------------------------------------

    def wait_whole(self):
        def why_not():
            for broker in self.brokers:
                if sentence := broker.ended_by_itself():
                    raise RuntimeError(sentence)
                view = view_of(broker)
                if view is None or len(view.brokers) < len(self.brokers):
                    return f"{broker.name} knows {view and sorted(view.brokers)}"
                for name, partition in view.partitions.items():
                    if partition.leader not in partition.isr or partition.isr != partition.replicas:
                        return f"as {broker.name} sees it, {name} is {partition}"
            return None
        reason = wait_until(why_not, PATIENCE_S)
        require(reason is None, f"the brokers are not together after {PATIENCE_S} s: {reason}")

    def kill_and_restart(self, broker):
        broker.kill()
        broker.start()

    def stop_and_restart(self, broker):
        code = broker.terminate()
        require(code == 0, f"{broker.name} did not stop cleanly, but with {code}:\n{broker.last_words()}")
        broker.start()

    def kill_until_replaced(self, broker):
        """It is back when the others lead all partitions; where there are none, at once."""
        broker.kill()
        others = [each for each in self.brokers if each is not broker]

        def why_not():
            for each in others:
                view = view_of(each)
                if view is None or any(partition.leader in (-1, broker.number) for partition in view.partitions.values()):
                    return f"{each.name} has no other leader for all that {broker.name} had"
            return None
        reason = wait_until(why_not, PATIENCE_S)
        broker.start()
        require(reason is None, reason)

    def stop_all(self):
        for broker in self.brokers:
            if sentence := broker.ended_by_itself():
                raise RuntimeError(sentence)
            code = broker.terminate()
            require(code == 0, f"{broker.name} did not stop cleanly, but with {code}")

    def bounce(self, how, dice):
        """One of the brokers, when all are well."""
        self.wait_whole()
        how(dice.choice(self.brokers))

    # --- Transactions ------------------------------------------------------------------------------------------------

    def require_no_open_transactions(self, timeout_s=PATIENCE_S):
        """Those of programs that were killed end when their time is over."""
        def still_open():
            return ", ".join(f"{each['id']} is {each['state']}" for each in self.naru("txn", "list") if each["state"] in OPEN_STATES)
        reason = wait_until(still_open, timeout_s)
        require(reason is None, f"still open: {reason}")

    @contextlib.contextmanager
    def explained(self):
        """Failures inside come with the ends of the brokers' logs."""
        try:
            yield
        except (RuntimeError, AssertionError, subprocess.SubprocessError, OSError) as problem:
            words = "\n".join(f"The log of {broker.name} ends with:\n{broker.last_words(3000)}" for broker in self.brokers)
            raise RuntimeError(f"{problem}\n{words}") from problem
        finally:
            self.close()
