"""What the clients of a chaos run have told (workload.py, transaction_workload.py), for the checkers."""

import collections
import glob
import math
import os
import re
from dataclasses import dataclass, field

Anomaly = collections.namedtuple("Anomaly", "kind text")  # what a checker finds
Ack = collections.namedtuple("Ack", "partition offset value")
Record = collections.namedtuple("Record", "partition offset value")
Look = collections.namedtuple("Look", "observer group partition offset")
Commit = collections.namedtuple("Commit", "group partition offset")
Batch = collections.namedtuple("Batch", "first last producer_id epoch sequence control", defaults=[0])  # control: 1, of a marker
GaveUp = collections.namedtuple("GaveUp", "time text")


@dataclass
class Transaction:
    """`writes`: value -> partition. `outcome`: committed or aborted, if the writer was told; else it is unknown."""

    writes: dict
    outcome: str = ""


@dataclass
class History:
    """What was told, in the order in which each client told it."""

    sent: dict = field(default_factory=dict)  # value -> partition
    acks: list = field(default_factory=list)
    unknown: set = field(default_factory=set)  # values with an error; a record without any report is as unknown
    refused: set = field(default_factory=set)
    readings: dict = field(default_factory=dict)  # reader -> [Record]
    ends: dict = field(default_factory=dict)  # partition -> end, told by the last reader
    last_reader: str = ""
    deliveries: dict = field(default_factory=dict)  # group -> [Record], of all its members
    looks: list = field(default_factory=list)
    commits: list = field(default_factory=list)
    complaints: list = field(default_factory=list)
    batches: dict = field(default_factory=dict)  # partition -> [Batch]
    gave_up: list = field(default_factory=list)
    transactions: dict = field(default_factory=dict)  # (writer, number) -> Transaction
    committed: dict = field(default_factory=dict)  # reader of committed records -> [Record]
    committed_ends: dict = field(default_factory=dict)  # partition -> end, told by the last one of these
    last_committed: str = ""
    excuses: list = field(default_factory=list)  # (from, to): faults with which librdkafka may give up, until the cluster is whole again

    def everything_read(self):
        for source, records in [*self.readings.items(), *self.deliveries.items()]:
            for record in records:
                yield source, record


def at(partition, offset):
    return f"{partition} offset {offset}"


def lines(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):  # else cut off by being killed
                yield line.split()


def out_of_range(name, words):
    return GaveUp(float(words[0]), f"{name} is out of range: {' '.join(words[1:])}")


def load_producer(history, name, path):
    for what, *rest in lines(path):
        if what == "sent":
            history.sent[rest[2]] = rest[1]
        elif what == "ok":
            history.acks.append(Ack(rest[1], int(rest[2]), rest[3]))
        elif what in ("unknown", "refused"):
            (history.unknown if what == "unknown" else history.refused).add(rest[2])
        elif what == "fatal":
            history.gave_up.append(GaveUp(float(rest[0]), f"{name} has given up: {' '.join(rest[1:])}"))


def load_reader(history, name, path):
    records = history.readings.setdefault(name, [])
    for what, *rest in lines(path):
        if what == "read":
            records.append(Record(rest[0], int(rest[1]), rest[2]))
        elif what == "end":
            history.last_reader = name
            history.ends[rest[0]] = int(rest[1])
        elif what == "reset":
            history.gave_up.append(out_of_range(name, rest))


def load_writer(history, name, path):
    writer = name.partition("-")[2]
    for what, *rest in lines(path):
        if what == "begun":
            history.transactions[writer, int(rest[1])] = Transaction(dict(zip(rest[3::2], rest[2::2])))
        elif what in ("committed", "aborted"):
            history.transactions[writer, int(rest[1])].outcome = what
        elif what == "fatal":
            history.gave_up.append(GaveUp(float(rest[0]), f"{name} has given up: {' '.join(rest[1:])}"))


def load_committed(history, name, path):
    records = history.committed.setdefault(name, [])
    for what, *rest in lines(path):
        if what == "read":
            records.append(Record(rest[0], int(rest[1]), rest[2]))
        elif what == "end":
            history.last_committed = name
            history.committed_ends[rest[0]] = int(rest[1])
        elif what == "reset":
            history.gave_up.append(out_of_range(name, rest))


def load_copier(history, name, path):
    for what, *rest in lines(path):
        if what == "fatal":
            history.gave_up.append(GaveUp(float(rest[0]), f"{name} has given up: {' '.join(rest[1:])}"))
        elif what == "reset":
            history.gave_up.append(out_of_range(name, rest))


def load_member(history, name, path):
    group = re.fullmatch(r"member-(.+)-\d+", name).group(1)
    records = history.deliveries.setdefault(group, [])
    for what, *rest in lines(path):
        if what == "record":
            records.append(Record(rest[0], int(rest[1]), rest[2]))
        elif what == "committed":
            history.commits += [Commit(group, partition, int(offset)) for partition, offset in zip(rest[::2], rest[1::2])]
        elif what == "reset":
            history.gave_up.append(out_of_range(name, rest))
        elif what == "error":
            history.complaints.append(f"{name} has ended: {' '.join(rest)}")


def load_watcher(history, name, path):
    for what, *rest in lines(path):
        if what == "seen":
            history.looks.append(Look(name, rest[0], rest[1], int(rest[2])))
        elif what == "blind":
            history.complaints.append(f"{name} cannot read what {rest[0]} has committed")


def load_nemesis(history, _, path):
    for what, time in lines(path):
        if what == "excused":
            history.excuses.append((float(time), math.inf))
        elif what == "whole":
            history.excuses[-1] = (history.excuses[-1][0], float(time))


def load_batches(history, _, path):
    for what, partition, *numbers in lines(path):
        if what == "batch":
            history.batches.setdefault(partition, []).append(Batch(*map(int, numbers)))
        elif what == "unreadable":
            history.complaints.append(f"the batches of {partition} cannot be read")


def load(folder):
    history = History()
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.out"))):
        name = os.path.basename(path).removesuffix(".out")
        if name.startswith("soak-"):
            continue  # soak.py judges those
        load_one = {"producer": load_producer, "reader": load_reader, "member": load_member, "watcher": load_watcher,
                    "nemesis": load_nemesis, "batches": load_batches, "writer": load_writer, "committed": load_committed,
                    "copier": load_copier}[name.split("-")[0]]
        load_one(history, name, path)
    return history
