#!/usr/bin/env python3
"""Measures the broker against floors and peers, each pair interleaved in one run, and prints a table.

    benchmarks/run.py [--only NAME,...] [--repeats N] [--scale X] [--json FILE] [--list]

A ratio is that of the medians; the spread is the smallest and the largest ratio of the interleaved pairs. --scale 0.1 makes
everything ten times shorter, to see whether it works.
"""

import argparse
import contextlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from clusters import NaruCluster, elect_preferred, kill_one_after_the_other
from servers import BIN, Floor, Naru, Redis, cpu_seconds, load, run_json

GB = 1_000_000_000
LOOSE = {"flush_messages": 9223372036854775807}
# Of one measurement of CPU per GB. More of it would be memory that the machine has not used for a while, and touching that
# costs several times what is measured: then the figures tell who got it.
PAGE_CACHE_BYTES = GB // 2
COMMIT_MS = 100  # of transactions
PAIRS_OF_CPU = 3  # for each repetition: they are short


class Comparison:
    """Values of the broker and of what it is compared with, pair by pair."""

    def __init__(self, unit):
        self.unit = unit
        self.ours = []
        self.theirs = []

    def add(self, ours, theirs):
        self.ours.append(ours)
        self.theirs.append(theirs)

    def row(self, name, goal, at_least=False):
        ours, theirs = statistics.median(self.ours), statistics.median(self.theirs)
        ratios = [a / b for a, b in zip(self.ours, self.theirs)]
        ratio = ours / theirs
        return {"name": name, "unit": self.unit, "ours": ours, "compared_with": theirs, "ratio": ratio,
                "ratio_min": min(ratios), "ratio_max": max(ratios), "goal": goal, "goal_is": ">=" if at_least else "<=",
                "reached": goal is None or (ratio >= goal if at_least else ratio <= goal)}


def absolute_row(name, unit, values, goal):
    value = statistics.median(values)
    return {"name": name, "unit": unit, "ours": value, "min": min(values), "max": max(values), "goal": goal,
            "goal_is": "<=", "reached": goal is None or value <= goal}


def with_cpu(server, work):
    """(what the work measured, CPU seconds that the server spent on it)"""
    before = cpu_seconds(server.pid)
    measured = work()
    return measured, cpu_seconds(server.pid) - before


class Bench:
    def __init__(self, repeats, scale):
        self.repeats = repeats
        self.scale = scale
        self.folder = tempfile.mkdtemp(prefix="naru-bench-")
        self.running = contextlib.ExitStack()

    def scaled(self, count, least=1):
        return max(int(count * self.scale), least)

    def run(self, server):
        """A server that is closed with the bench, if not before."""
        self.running.callback(server.close)
        return server

    def close(self):
        self.running.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # --- CPU against floors --------------------------------------------------------------------------------------------

    def produce_cpu(self):
        """CPU to take 1 MB batches, against receiving, checking and writing the same bytes"""
        size = self.scaled(PAGE_CACHE_BYTES, 50_000_000)
        sink = os.path.join(self.folder, "sink")

        def broker():
            naru = self.run(Naru())
            naru.create("bench", **LOOSE)
            measured, cpu = with_cpu(naru, lambda: load("produce", naru.port, topic="bench", bytes=size))
            naru.close()
            return cpu * GB / measured["bytes"]

        def floor():
            server = self.run(Floor("sink", sink))
            measured, cpu = with_cpu(server, lambda: load("produce", server.port, topic="bench", bytes=size))
            server.close()
            os.remove(sink)
            return cpu * GB / measured["bytes"]

        result = Comparison("CPU s/GB")
        for pair in range(PAIRS_OF_CPU * self.repeats):
            # In turns: who comes second may get the memory that the first one has given back.
            first, second = (broker, floor) if pair % 2 == 0 else (floor, broker)
            values = {first: first(), second: second()}
            result.add(values[broker], values[floor])
        return [result.row("produce, 1 KiB messages in 1 MB batches, loose acks: broker CPU against floor", 1.5)]

    def fetch_cpu(self):
        """CPU to send stored batches, against the better of sendfile and pread+write"""
        size = self.scaled(PAGE_CACHE_BYTES, 50_000_000)
        naru = self.run(Naru())
        naru.create("bench", **LOOSE)
        load("produce", naru.port, topic="bench", bytes=size)
        segment = os.path.join(naru.data, "bench-0", "0" * 20 + ".log")
        available = os.path.getsize(segment)
        ways = {way: self.run(Floor("send", segment, way)) for way in ("sendfile", "copy")}
        size = min(size, available) - 2_000_000
        ours, floors = [], {way: [] for way in ways}
        for _ in range(PAIRS_OF_CPU * self.repeats):
            measured, cpu = with_cpu(naru, lambda: load("fetch", naru.port, topic="bench", bytes=size))
            ours.append(cpu * GB / measured["bytes"])
            for way, floor in ways.items():
                measured, cpu = with_cpu(floor, lambda: load("pull", floor.port, bytes=size))
                floors[way].append(cpu * GB / measured["bytes"])
        best = min(floors.values(), key=statistics.median)
        for floor in ways.values():
            floor.close()
        naru.close()
        result = Comparison("CPU s/GB")
        for pair in zip(ours, best):
            result.add(*pair)
        return [result.row("fetch in 1 MB pieces: broker CPU against floor", 1.2)]

    def request_cpu(self):
        """CPU for one 100-byte message per request, against an echo server"""
        count = self.scaled(400_000, 20_000)
        naru, echo = self.run(Naru()), self.run(Floor("echo"))
        naru.create("bench", **LOOSE)
        result = Comparison("CPU s/million")
        for _ in range(self.repeats):
            _, ours = with_cpu(naru, lambda: load("small", naru.port, topic="bench", count=count))
            _, theirs = with_cpu(echo, lambda: load("echo", echo.port, count=count))
            result.add(ours * 1e6 / count, theirs * 1e6 / count)
        naru.close()
        echo.close()
        return [result.row("one 100-byte message per request, loose acks: broker CPU against echo", 2)]

    # --- Latency -------------------------------------------------------------------------------------------------------

    def latency(self):
        """End to end at 5,000 messages a second, against Redis Streams"""
        rows = []
        for ours, theirs, settings, goals in (("loose acks", "everysec", LOOSE, (1.3, 1)), ("fsync acks", "always", {}, (1, 1))):
            results = {"p50_us": Comparison("µs"), "p99_us": Comparison("µs")}
            naru, redis = self.run(Naru()), self.run(Redis(theirs))
            for repeat in range(self.repeats):
                topic = f"bench{repeat}"
                naru.create(topic, **settings)
                common = {"topic": topic, "rate": 5000, "seconds": self.scaled(6, 2)}
                mine = load("kafka-latency", naru.port, **common)
                peer = load("redis-latency", redis.port, **common)
                for name, result in results.items():
                    result.add(mine[name], peer[name])
            naru.close()
            redis.close()
            for (name, result), goal in zip(results.items(), goals):
                rows.append(result.row(f"end to end, 1 KiB at 5,000/s, {ours} against Redis {theirs}: {name[:3]}", goal))
        return rows

    def many_partitions(self):
        """One 1 KiB message to each of N partitions, fsynced: N=1,000 against N=1"""
        results = {"p50_us": Comparison("µs"), "p99_us": Comparison("µs")}
        naru = self.run(Naru())
        naru.create("one", 1)
        naru.create("many", 1000)
        for _ in range(self.repeats):
            many = load("rounds", naru.port, topic="many", partitions=1000, rounds=self.scaled(300, 20))
            one = load("rounds", naru.port, topic="one", partitions=1, rounds=self.scaled(2000, 100))
            for name, result in results.items():
                result.add(many[name], one[name])
        naru.close()
        return [result.row(f"fsynced round over 1,000 partitions against 1: {name[:3]}", 5) for name, result in results.items()]

    # --- Throughput ----------------------------------------------------------------------------------------------------

    def librdkafka(self):
        """librdkafka's producer into the broker, against the same into the floor sink"""
        count = self.scaled(1_000_000, 50_000)
        result = Comparison("msg/s")
        for _ in range(self.repeats):
            naru = self.run(Naru())
            naru.create("bench", **LOOSE)
            ours = run_json([BIN / "bench_librdkafka", naru.address, "bench", count, 1024])
            naru.close()
            sink = os.path.join(self.folder, "sink")
            floor = self.run(Floor("kafka", sink))
            theirs = run_json([BIN / "bench_librdkafka", f"127.0.0.1:{floor.port}", "bench", count, 1024])
            floor.close()
            os.remove(sink)
            result.add(ours["per_second"], theirs["per_second"])
        return [result.row("librdkafka, 1 KiB messages, against librdkafka into the floor sink", 0.8, at_least=True)]

    def fsync_throughput(self):
        """1 MB batches with fsync acks against loose acks"""
        size = self.scaled(GB, 50_000_000)
        result = Comparison("bytes/s")
        for _ in range(self.repeats):
            speeds = []
            for settings in ({}, LOOSE):
                naru = self.run(Naru())
                naru.create("bench", **settings)
                speeds.append(load("produce", naru.port, topic="bench", bytes=size)["bytes_per_second"])
                naru.close()
            result.add(*speeds)
        return [result.row("throughput, 1 MB batches, fsync acks against loose acks", 0.7, at_least=True)]

    # --- Transactions --------------------------------------------------------------------------------------------------

    def transactions(self):
        """Transactions of 100 ms over 1, 10 and 100 partitions, against an idempotent producer without them"""
        rows = []
        for version in (1, 2):
            for partitions in (1, 10, 100):
                result, commits = Comparison("bytes/s"), []
                # Disks vary by more than what is looked for.
                for pair in range(2 * self.repeats - 1 if partitions == 1 else self.repeats):
                    speeds = {}
                    for commit_ms in (COMMIT_MS, 0) if pair % 2 == 0 else (0, COMMIT_MS):
                        measured = self.transaction_load(version, partitions, commit_ms)
                        speeds[commit_ms] = measured["bytes_per_second"]
                        if commit_ms:
                            commits.append((measured["add_p50_us"] + measured["flush_p50_us"] + measured["commit_p50_us"]) / 1000)
                    result.add(speeds[COMMIT_MS], speeds[0])
                what = f"transactions (version {version}) of 100 ms over {partitions} partition{'s' if partitions > 1 else ''}"
                rows.append(result.row(f"{what}, fsync acks, against none: throughput", 0.9 if partitions == 1 else None, at_least=True))
                rows.append(absolute_row("the same: pause between two of them, p50", "ms", commits, None))
        return rows

    def transaction_load(self, version, partitions, commit_ms):
        naru = self.run(Naru())
        naru.create("bench", partitions)
        measured = load("transactions", naru.port, topic="bench", partitions=partitions, version=version, commit_ms=commit_ms,
                        seconds=self.scaled(5))
        naru.close()
        os.sync()  # what is left to do of this run is not charged to the next one
        return measured

    def librdkafka_transactions(self):
        """librdkafka's transactions of 100 ms over 1, 10 and 100 partitions, against its idempotent producer without them"""
        count = self.scaled(1_000_000, 100_000)
        rows = []
        for partitions in (1, 10, 100):
            result = Comparison("msg/s")
            for pair in range(self.repeats):
                speeds = {}
                for commit_ms in (COMMIT_MS, 0) if pair % 2 == 0 else (0, COMMIT_MS):
                    naru = self.run(Naru())
                    naru.create("bench", partitions)
                    command = [BIN / "bench_librdkafka", naru.address, "bench", count, 1024, partitions, commit_ms]
                    speeds[commit_ms] = run_json(command)["per_second"]
                    naru.close()
                result.add(speeds[COMMIT_MS], speeds[0])
            rows.append(result.row(f"librdkafka, transactions of 100 ms over {partitions} partition{'s' if partitions > 1 else ''}, "
                                   "fsync acks, against none", None, at_least=True))
        return rows

    # --- Groups --------------------------------------------------------------------------------------------------------

    def groups(self):
        """1,000 groups of 10 members that only heartbeat; rebalance of 100 members; committed offsets with fsync"""
        groups = self.scaled(1000, 10)
        seconds = self.scaled(10, 2)
        idle, rebalances, committed, p99 = [], [], [], []
        for _ in range(self.repeats):
            naru = self.run(Naru("group.initial.rebalance.delay.ms=1000"))
            _, cpu = naru.cpu_while_stable("groups", groups=groups, members=10, seconds=seconds)
            idle.append(100 * cpu / seconds)
            rebalanced = load("rebalance", naru.port, members=100, heartbeat_ms=1000, rounds=3)
            rebalances.append(rebalanced["max_us"] / 1e6)
            naru.create("bench")
            commits = load("commits", naru.port, topic="bench", count=self.scaled(50_000, 5_000))
            committed.append(commits["per_second"])
            p99.append(commits["p99_us"] / 1000)
            naru.close()
        return [absolute_row(f"{groups} stable groups of 10 members: broker CPU", "% of a core", idle, None),
                absolute_row("a member joins a group of 100, heartbeats every second: all have their new assignment", "s",
                             rebalances, 2),
                absolute_row("committed offsets of 100 groups, fsynced", "per second", committed, None),
                absolute_row("the same, p99", "ms", p99, None)]

    # --- Start and memory ----------------------------------------------------------------------------------------------

    def start(self):
        """Start to ready with empty data, and resident memory when idle"""
        times, resident = [], []
        for _ in range(max(self.repeats, 5)):
            begin = time.monotonic()
            naru = self.run(Naru())
            times.append((time.monotonic() - begin) * 1000)
            time.sleep(0.5)
            resident.append(naru.resident_bytes() / (1 << 20))
            naru.close()
        return [absolute_row("start to ready, empty data", "ms", times, 30),
                absolute_row("resident when idle", "MiB", resident, 16)]

    def ten_thousand_partitions(self):
        """Restart of 10,000 partitions with data, clean and after kill -9"""
        partitions = self.scaled(10_000, 200)
        topics = max(partitions // 1000, 1)
        naru = self.run(Naru())
        for topic in range(topics):
            naru.create(f"bench{topic}", partitions // topics)
            load("rounds", naru.port, topic=f"bench{topic}", partitions=partitions // topics, rounds=5)
        rows = []
        clean, killed, killed_dirty, resident = [], [], [], []
        for _ in range(self.repeats):
            naru.terminate()
            clean.append(timed(naru.start))
            naru.kill()
            killed.append(timed(naru.start))
            for topic in range(topics):
                load("rounds", naru.port, topic=f"bench{topic}", partitions=partitions // topics, rounds=2)
            resident.append(naru.resident_bytes() / (1 << 20))
            naru.kill()
            killed_dirty.append(timed(naru.start))
        naru.close()
        rows.append(absolute_row(f"restart with {partitions} partitions, clean", "s", clean, 3))
        rows.append(absolute_row(f"restart with {partitions} partitions, kill -9", "s", killed, 3))
        rows.append(absolute_row("the same, every partition written to since its sync", "s", killed_dirty, 3))
        rows.append(absolute_row(f"resident with {partitions} partitions", "MiB", resident, 150))
        return rows


    # --- Clusters ------------------------------------------------------------------------------------------------------

    def replication(self):
        """Produce to three replicas with acks=all, against one broker: throughput and round trip, fsynced and loose"""
        size = self.scaled(PAGE_CACHE_BYTES, 50_000_000)
        rounds = self.scaled(2000, 100)
        rows = []
        for kind, settings in (("fsync acks", {}), ("loose acks", LOOSE)):
            throughput, p50, p99 = Comparison("bytes/s"), Comparison("µs"), Comparison("µs")
            for _ in range(self.repeats):
                cluster, naru = self.run(NaruCluster()), self.run(Naru())
                cluster.create("bench", min_insync_replicas=2, **settings)
                naru.create("bench", **settings)
                ports = cluster.broker(cluster.leaders("bench")[0]).port, naru.port
                throughput.add(*(load("produce", port, topic="bench", bytes=size, acks=-1)["bytes_per_second"] for port in ports))
                trips = [load("rounds", port, topic="bench", partitions=1, rounds=rounds, acks=-1) for port in ports]
                p50.add(*(trip["p50_us"] for trip in trips))
                p99.add(*(trip["p99_us"] for trip in trips))
                cluster.close()
                naru.close()
            rows.append(throughput.row(f"three replicas, acks=all, {kind}, 1 MB batches, against one broker: throughput", None))
            rows.append(p50.row(f"three replicas, acks=all, {kind}, one 1 KiB message, against one broker: p50", None))
            rows.append(p99.row("the same: p99", None))
        return rows

    def failover(self):
        """kill -9 of a leader in a cluster of three, 30 partitions: until writes to its partitions are accepted again"""
        cluster = self.run(NaruCluster())
        cluster.create("bench", 30, min_insync_replicas=2)
        elect_preferred(cluster)
        rows = self.kills(cluster, 30)
        cluster.close()
        return rows

    def large_cluster(self):
        """10,000 partitions on each of three brokers: memory, restart, kill -9 of leaders and of controllers"""
        partitions = self.scaled(10_000, 300)
        cluster = self.run(NaruCluster())
        empty = [cluster.resident_bytes(broker) for broker in cluster.brokers]
        cluster.create("bench", partitions, min_insync_replicas=2)
        full = [cluster.resident_bytes(broker) for broker in cluster.brokers]
        memory = [(after - before) / partitions / 1024 for before, after in zip(empty, full)]
        ready, whole = [], []
        for broker in cluster.brokers:
            broker.terminate()
            begin = time.monotonic()
            ready.append(cluster.seconds_to_ready(broker))
            cluster.wait_until_whole()
            whole.append(time.monotonic() - begin)
        elect_preferred(cluster)
        rows = [absolute_row(f"three brokers with {partitions} partitions each: memory per partition", "KiB", memory, None),
                absolute_row("the same, clean restart of one: ready", "s", ready, None),
                absolute_row("the same, clean restart of one: all in sync again", "s", whole, None)]
        rows += self.kills(cluster, partitions)
        cluster.close()
        return rows

    def kills(self, cluster, partitions):
        kills = list(kill_one_after_the_other(cluster, "bench", self.scaled(20, 3)))
        what = f"kill -9 of one of three brokers with {partitions} partitions"
        controllers = [kill.controller - kill.detected for kill in kills if kill.controller]
        rows = percentile_rows(f"{what}: first write accepted, after detection", [kill.first - kill.detected for kill in kills], 1)
        rows += percentile_rows("the same, in all probed partitions, after detection", [kill.last - kill.detected for kill in kills], 1)
        rows += percentile_rows(f"{what}: first write accepted, after the kill (session 3 s)", [kill.first for kill in kills], None)
        if controllers:
            rows += percentile_rows(f"{what}, the controller: a new one is in office, after detection", controllers, None)
        return rows


def percentile_rows(name, values, goal):
    """p50 and p99; of a few values, the largest is the p99."""
    ordered = sorted(values)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    rows = []
    for label, value in ((f"{name}: p50 of {len(values)}", statistics.median(values)), (f"{name}: p99", p99)):
        rows.append({**absolute_row(label, "s", values, goal), "ours": value, "reached": goal is None or value <= goal})
    return rows


def timed(work):
    begin = time.monotonic()
    work()
    return time.monotonic() - begin


def number(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def table(rows):
    lines = ["| what | broker | compared with | ratio (spread) | goal | |", "| --- | ---: | ---: | ---: | ---: | --- |"]
    for row in rows:
        mark = "" if row["goal"] is None else "reached" if row["reached"] else "**missed**"
        goal = "" if row["goal"] is None else f"≤ {row['goal']} {row['unit']}"
        if "ratio" in row:
            goal = "" if row["goal"] is None else f"{row['goal_is'].replace('<=', '≤').replace('>=', '≥')} {row['goal']}"
            lines.append(f"| {row['name']} | {number(row['ours'])} {row['unit']} | {number(row['compared_with'])} | "
                         f"{row['ratio']:.2f} ({row['ratio_min']:.2f}–{row['ratio_max']:.2f}) | {goal} | {mark} |")
        else:
            lines.append(f"| {row['name']} | {number(row['ours'])} {row['unit']} ({number(row['min'])}–{number(row['max'])}) | | | "
                         f"{goal} | {mark} |")
    return "\n".join(lines)


MEASURES = ["produce_cpu", "fetch_cpu", "request_cpu", "latency", "librdkafka", "many_partitions", "fsync_throughput", "transactions",
            "librdkafka_transactions", "groups", "start", "ten_thousand_partitions", "replication", "failover", "large_cluster"]


def commit():
    done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(MEASURES))
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--json")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.list:
        for name in MEASURES:
            print(f"{name:26}{getattr(Bench, name).__doc__}")
        return
    wanted = arguments.only.split(",")
    unknown = [name for name in wanted if name not in MEASURES]
    if unknown:
        sys.exit(f"there is no measure {unknown[0]}; --list shows them")
    bench = Bench(arguments.repeats, arguments.scale)
    rows = []
    try:
        for name in wanted:
            print(f"measuring {name}: {getattr(Bench, name).__doc__}", file=sys.stderr, flush=True)
            rows += getattr(bench, name)()
    finally:
        bench.close()
    print(table(rows))
    if arguments.json:
        with open(arguments.json, "w") as out:
            json.dump({"commit": commit(), "cores": os.cpu_count(), "kernel": platform.release(), "scale": arguments.scale,
                       "repeats": arguments.repeats, "rows": rows}, out, indent=2, ensure_ascii=False)
            out.write("\n")


if __name__ == "__main__":
    main()
