"""Chaos: a real cluster under load, and faults one after the other. In the end a checker proves from what the clients were told that
no acknowledged record is lost, doubled or out of order, and no transaction is torn. README.md explains it.

    run.py [--cycles N] [--coordination zookeeper|etcd|both|none] [--brokers N] [--seed S] [--faults KIND,...] [--outage SECONDS]
           [--rate N] [--patience FACTOR] [--soak MINUTES] [--confluent-kafka VERSION] [--strict] [--keep]
"""

import argparse
import collections
import contextlib
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import checker
from batches import write_batches
from clients import Clients, use_python
from cluster import SMALL_SEGMENTS, Cluster, wait_until
from machines import NoMachines
from nemesis import FAULTS, describe, schedule, target_of
from soak import PARTITIONS as SOAK_PARTITIONS, TOPICS as SOAK_TOPICS, Soak
from transaction_checker import COPY
from transaction_clients import TOPICS as TRANSACTION_TOPICS, TransactionClients

TOPICS = {"strict": {}, "loose": {"flush.messages": "1000000"}}
PARTITIONS = 4
PRODUCERS = 3
# Bounds: exceeding one is an anomaly.
START_S = 60
WRITES_AGAIN_S = 45
COMMITS_AGAIN_S = 60
WHOLE_S = 90
READ_S = 60
MOST_DEATHS = 3


class Stuck(Exception):
    """What was demanded did not come; the faults of this cluster end here."""


class Run:
    """The cycles on one coordination service."""

    def __init__(self, title, folder, arguments, cycles, seed):
        self.title, self.folder, self.arguments, self.cycles, self.seed = title, folder, arguments, cycles, seed
        self.anomalies = []
        self.counts = collections.Counter()
        self.kinds = collections.Counter()
        self.writes_again, self.commits_again, self.recovered = [], [], []
        self.note = None
        self.deaths = 0
        self.started = time.monotonic()

    def say(self, text):
        line = f"[{self.title} {time.monotonic() - self.started:5.0f} s] {text}"
        print(line, flush=True)
        with open(os.path.join(self.folder, "run.log"), "a") as log:
            log.write(line + "\n")

    def blame(self, kind, text):
        self.anomalies.append(checker.Anomaly(kind, text))
        self.say(f"ANOMALY {kind}: {text}")

    def demand(self, what, why_not, patience_s=READ_S):
        """`why_not` gives the reason why it is not so yet, or is None if it is too late already."""
        patience_s *= self.arguments.patience
        reason = wait_until(why_not, patience_s) if why_not else "at the end"
        if reason:
            self.blame("stuck", f"{what}: not within {patience_s:g} s: {reason}" if why_not else what)
        return not reason

    def must(self, what, why_not, patience_s):
        if not self.demand(what, why_not, patience_s):
            raise Stuck

    def run(self):
        store = None if self.arguments.coordination == "none" else self.title
        with contextlib.ExitStack() as undo:
            # Files that are open are counted in a soak, so that there each partition has one segment from the beginning to the end.
            cluster = Cluster(self.folder, self.arguments.brokers, store, disk_mebibytes=64 + 4 * self.cycles,
                              settings=[] if self.arguments.soak else [SMALL_SEGMENTS])
            undo.callback(cluster.close)
            self.note = cluster.no_small_disk and f"full disk left out: {cluster.no_small_disk}"
            try:
                self.must("the cluster comes up", cluster.why_not_started, START_S)
                partitions = cluster.create_topics(TOPICS, PARTITIONS)
                transacted = cluster.create_topics(TRANSACTION_TOPICS, PARTITIONS)
                if self.arguments.soak:
                    cluster.create_topics(SOAK_TOPICS, SOAK_PARTITIONS)
                self.must("the topics are there", cluster.why_not_whole, START_S)
            except Stuck:
                return
            except (RuntimeError, OSError) as failure:
                self.blame("start", str(failure))
                return
            clients = Clients(cluster, partitions, PRODUCERS, self.arguments.rate)
            undo.callback(clients.close)
            transactions = TransactionClients(cluster, transacted)
            undo.callback(transactions.close)
            try:
                self.act("the start of the groups", clients.add_groups)
                self.act("the start of the copiers", transactions.add_copiers)
                if self.arguments.soak:
                    self.soak(undo, cluster, clients, transactions)
                else:
                    self.faults(cluster, clients, transactions)
            except Stuck:
                self.say("no more faults: the cluster does not recover")
            cluster.machines.heal()
            with contextlib.suppress(Stuck):
                self.look_for_the_dead(cluster, clients, transactions)
            transactions.finish(self.demand)
            clients.finish(self.demand)
            write_batches(cluster, partitions + transacted, os.path.join(self.folder, "batches.out"))
            self.judge()

    def soak(self, undo, cluster, clients, transactions):
        soak = Soak(self, self.arguments.soak, cluster, clients, transactions)
        undo.callback(soak.close)
        self.go_on(cluster, clients, transactions, time.monotonic())
        soak.all_cycles()
        soak.finish()

    def faults(self, cluster, clients, transactions):
        # Without any fault, too, nothing may go wrong.
        self.go_on(cluster, clients, transactions, time.monotonic())
        possible = ({"brokers"} if len(cluster.brokers) > 1 else set()) | ({"store"} if cluster.store else set()) | (
            {"disk"} if cluster.small_disk else set())
        steps = schedule(self.seed, self.cycles, possible, self.arguments.outage, self.arguments.faults)
        with open(os.path.join(self.folder, "schedule.txt"), "w") as file:
            file.write(f"seed {self.seed}\n" + "".join(f"{number} {step}\n" for number, step in enumerate(steps, 1)))
        for number, step in enumerate(steps, 1):
            self.disturb(f"{number}/{len(steps)}", step, target_of(step, cluster), cluster, clients, transactions)

    def disturb(self, number, step, broker, cluster, clients, transactions):
        """One fault, from its beginning until the cluster is whole again."""
        fault = FAULTS[step.kind]
        writes_go_on = fault.writes_go_on and len(cluster.brokers) >= 3
        self.kinds[step.kind] += 1
        what = describe(step, broker)
        began, told = time.monotonic(), []
        is_excused = fault.excuses_clients and not self.arguments.strict
        if is_excused:
            self.mark("excused")
        self.act(what, fault.begin, cluster, broker, step)
        begun = time.monotonic()  # what was sent while it began may have come through
        try:
            self.replace_a_client(step, clients, transactions)
            if writes_go_on:
                self.must(f"{what}: writes go on", lambda: clients.why_no_writes_since(begun), WRITES_AGAIN_S)
                self.writes_again.append(time.monotonic() - began)
                told.append(f"writes again after {self.writes_again[-1]:.1f} s")
                self.must(f"{what}: transactions go on", lambda: transactions.why_no_commits_since(begun), COMMITS_AGAIN_S)
                self.commits_again.append(time.monotonic() - began)
                told.append(f"commits after {self.commits_again[-1]:.1f} s")
            time.sleep(max(0.0, began + step.seconds - time.monotonic()))
            if writes_go_on:
                held = time.monotonic()
                self.must(f"{what}: writes still go on after {held - began:.0f} s", lambda: clients.why_no_writes_since(held), WRITES_AGAIN_S)
        finally:
            self.act(f"the end of {what}", fault.end, cluster, broker, step)
        ended = time.monotonic()
        self.recovered.append(self.go_on(cluster, clients, transactions, ended))
        told.append(f"whole {self.recovered[-1]:.1f} s after the end, all read after {time.monotonic() - ended:.1f} s")
        if is_excused:
            self.mark("whole")
        self.say(f"{number} {what}: {', '.join(told)}; {clients.progress.counts['acknowledged']:,} acknowledged, "
                 f"{transactions.progress.counts['committed']:,} committed")

    def act(self, what, action, *arguments):
        try:
            action(*arguments)
        except RuntimeError as failure:
            self.blame("stuck", f"{what}: {failure}")
            raise Stuck from failure

    def replace_a_client(self, step, clients, transactions):
        if step.client == "producer":
            clients.replace_producer()
        elif step.client in ("writer", "copier"):
            transactions.replace(step.client)
        elif step.client:
            clients.replace_member(step.client)

    def mark(self, what):
        """For the checker."""
        with open(os.path.join(self.folder, "nemesis.out"), "a") as file:
            file.write(f"{what} {time.monotonic():.3f}\n")

    def go_on(self, cluster, clients, transactions, since):
        """Demands a whole cluster, writes and transactions, and readers, groups and copiers that come to what was written; the seconds
        until writes."""
        def why_not_whole():
            self.look_for_the_dead(cluster, clients, transactions)
            return cluster.why_not_whole()

        self.must("the cluster is whole", why_not_whole, WHOLE_S)
        self.must("writes go on", lambda: clients.why_no_writes_since(since), WRITES_AGAIN_S)
        seconds = time.monotonic() - since
        offsets = clients.acknowledged_offsets()
        self.must("readers and groups go on", lambda: clients.why_not_read(offsets), READ_S)
        self.must("transactions go on", lambda: transactions.why_no_commits_since(since), COMMITS_AGAIN_S)
        values = transactions.committed_values()
        self.must("what is committed can be read, and is copied", lambda: transactions.why_not_read(values), READ_S)
        return seconds

    def look_for_the_dead(self, cluster, clients, transactions):
        for sentence in [*cluster.ended_by_themselves(), *clients.ended_by_themselves(), *transactions.ended_by_themselves()]:
            self.blame("died", sentence)
            self.deaths += 1
        if self.deaths > MOST_DEATHS:
            raise Stuck

    def judge(self):
        history = checker.load(self.folder)
        self.anomalies += checker.check(history)
        reported = len(history.acks) + len(history.refused)
        self.counts.update(acknowledged=len(history.acks), unknown=len(history.sent) - reported, refused=len(history.refused),
                           read=sum(map(len, history.readings.values())) + sum(map(len, history.deliveries.values())),
                           gave_up=len(history.gave_up), sent_again=checker.count_sent_again(history))
        outcomes = collections.Counter(transaction.outcome or "unclear" for transaction in history.transactions.values())
        self.counts.update({f"transactions {outcome}": count for outcome, count in outcomes.items()})
        self.counts["copied"] = sum(partition.startswith(COPY + "/") for partition, *_ in history.committed.get(history.last_committed, []))
        self.say(f"checked: {len(history.acks):,} acknowledged records, {outcomes.total():,} transactions, {len(self.anomalies)} anomalies")


def spread(seconds):
    return f"{statistics.median(seconds):.1f} / {max(seconds):.1f}" if seconds else "-"


def table(runs):
    rows = [["", *(run.title for run in runs)],
            ["cycles", *(str(sum(run.kinds.values())) for run in runs)]]
    for kind in FAULTS:
        if any(run.kinds[kind] for run in runs):
            rows.append([f"  {kind}", *(str(run.kinds[kind]) for run in runs)])
    for what in ["acknowledged", "unknown", "refused", "read"]:
        rows.append([f"records {what}", *(f"{run.counts[what]:,}" for run in runs)])
    for what in ["committed", "aborted", "unclear"]:
        rows.append([f"transactions {what}", *(f"{run.counts[f'transactions {what}']:,}" for run in runs)])
    rows.append(["records copied in transactions", *(f"{run.counts['copied']:,}" for run in runs)])
    rows.append(["clients that gave up, excused or not", *(f"{run.counts['gave_up']:,}" for run in runs)])
    rows.append(["records that clients sent again as new ones", *(f"{run.counts['sent_again']:,}" for run in runs)])
    rows.append(["writes again after the fault, p50 / max s", *(spread(run.writes_again) for run in runs)])
    rows.append(["transactions again after the fault, p50 / max s", *(spread(run.commits_again) for run in runs)])
    rows.append(["whole and writing after its end, p50 / max s", *(spread(run.recovered) for run in runs)])
    rows.append(["anomalies", *(str(len(run.anomalies)) for run in runs)])
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join([row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:]))])


def fault_names(text):
    names = text.split(",")
    for name in names:
        if name not in FAULTS:
            raise argparse.ArgumentTypeError(f"there is no fault '{name}'; there are {', '.join(FAULTS)}")
    return names


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], prog="./dev chaos")
    parser.add_argument("--cycles", type=int, default=40, help="faults in all, shared by the coordination services (40)")
    parser.add_argument("--coordination", choices=["zookeeper", "etcd", "both", "none"], default="both",
                        help="one half on each by default; none: brokers with the embedded store, which have to be one")
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1_000_000), help="of the schedule; else by chance")
    parser.add_argument("--outage", type=float, default=60, metavar="SECONDS", help="the long outage of the coordination service (60)")
    parser.add_argument("--faults", type=fault_names, default=list(FAULTS), metavar="KIND,...", help=f"only these kinds of {', '.join(FAULTS)}")
    parser.add_argument("--rate", type=float, default=100, help="records per second of each of the three producers (100)")
    parser.add_argument("--patience", type=float, default=1, metavar="FACTOR", help="of all bounds, for a machine that is busy (1)")
    parser.add_argument("--soak", type=float, metavar="MINUTES",
                        help="no faults but restarts and kills of one broker; the others may not grow (on ZooKeeper unless --coordination says otherwise)")
    parser.add_argument("--confluent-kafka", metavar="VERSION", help="client library from PyPI in place of Debian's")
    parser.add_argument("--strict", action="store_true", help="do not excuse what librdkafka 2.0 gets wrong (README.md); for a later one")
    parser.add_argument("--keep", action="store_true", help="keep logs and data though all is well")
    arguments = parser.parse_args()
    if arguments.soak and arguments.coordination == "both":
        arguments.coordination = "zookeeper"
    if arguments.soak and arguments.brokers < 2:
        parser.error("a soak needs brokers that go on while one is restarted: --brokers 2 or more")
    if arguments.coordination == "none" and arguments.brokers != 1:
        parser.error("without a coordination service there is one broker: --brokers 1")
    return arguments


def python_with(version):
    """An interpreter whose confluent-kafka is of that version; installed when it is first asked for."""
    folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".cache", f"confluent-kafka-{version}")
    python = os.path.join(folder, "bin", "python")
    if not os.path.exists(os.path.join(folder, "installed")):
        subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", f"confluent-kafka=={version}"], check=True)
        open(os.path.join(folder, "installed"), "w").close()
    return os.path.abspath(python)


def end_in_order(number, _):
    """Everything is removed first; a second Ctrl-C must not get in the way of that."""
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, signal.SIG_IGN)
    sys.exit(128 + number)


def main():
    arguments = parse()
    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, end_in_order)
    if arguments.confluent_kafka:
        use_python(python_with(arguments.confluent_kafka))
    os.environ["CHAOS_STRICT"] = "1" if arguments.strict else "0"
    folder = tempfile.mkdtemp(prefix="naru-chaos-")
    titles = {"both": ["zookeeper", "etcd"], "none": ["alone"]}.get(arguments.coordination, [arguments.coordination])
    print(f"seed {arguments.seed}; logs in {folder}", flush=True)
    runs, started, well = [], time.monotonic(), False
    try:
        for number, title in enumerate(titles):
            cycles = arguments.cycles // len(titles) + (number < arguments.cycles % len(titles))
            os.mkdir(os.path.join(folder, title))
            runs.append(Run(title, os.path.join(folder, title), arguments, cycles, arguments.seed + number))
            runs[-1].run()
        anomalies = [anomaly for run in runs for anomaly in run.anomalies]
        print("\n".join(["", *table(runs)]))
        for run in runs:
            if run.note:
                print(f"{run.title}: {run.note}")
            if run.anomalies:
                print("\n".join([f"\n{run.title}:", *checker.summary(run.anomalies)]))
        well = not anomalies
        print(f"\n{'fine' if well else 'FAILED'} after {time.monotonic() - started:.0f} s; seed {arguments.seed}")
    except NoMachines as reason:
        shutil.rmtree(folder)
        print(f"chaos skipped: needs root and network namespaces ({reason})")
        sys.exit(0)
    finally:
        if well and not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
        elif os.path.exists(folder):
            print(f"logs and data: {folder}", flush=True)
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
