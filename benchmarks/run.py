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

from servers import BIN, Floor, Naru, Redis, cpu_seconds, load, run_json

GB = 1_000_000_000
LOOSE = {"flush_messages": 9223372036854775807}


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
                "reached": ratio >= goal if at_least else ratio <= goal}


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
        size = self.scaled(2 * GB, 50_000_000)
        result = Comparison("CPU s/GB")
        for _ in range(self.repeats):
            naru = self.run(Naru())
            naru.create("bench", **LOOSE)
            measured, ours = with_cpu(naru, lambda: load("produce", naru.port, topic="bench", bytes=size))
            naru.close()
            floor = self.run(Floor("sink", os.path.join(self.folder, "sink")))
            floor_measured, theirs = with_cpu(floor, lambda: load("produce", floor.port, topic="bench", bytes=size))
            floor.close()
            os.remove(os.path.join(self.folder, "sink"))
            result.add(ours * GB / measured["bytes"], theirs * GB / floor_measured["bytes"])
        return [result.row("produce, 1 KiB messages in 1 MB batches, loose acks: broker CPU against floor", 1.5)]

    def fetch_cpu(self):
        """CPU to send stored batches, against the better of sendfile and pread+write"""
        size = self.scaled(2 * GB, 50_000_000)
        naru = self.run(Naru("log.segment.bytes=2147483647"))
        naru.create("bench", **LOOSE)
        load("produce", naru.port, topic="bench", bytes=size)
        segment = os.path.join(naru.data, "bench-0", "0" * 20 + ".log")
        available = os.path.getsize(segment)
        ways = {way: self.run(Floor("send", segment, way)) for way in ("sendfile", "copy")}
        size = min(size, available) - 2_000_000
        ours, floors = [], {way: [] for way in ways}
        for _ in range(self.repeats):
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
            lines.append(f"| {row['name']} | {number(row['ours'])} {row['unit']} | {number(row['compared_with'])} | "
                         f"{row['ratio']:.2f} ({row['ratio_min']:.2f}–{row['ratio_max']:.2f}) | "
                         f"{row['goal_is'].replace('<=', '≤').replace('>=', '≥')} {row['goal']} | {mark} |")
        else:
            lines.append(f"| {row['name']} | {number(row['ours'])} {row['unit']} ({number(row['min'])}–{number(row['max'])}) | | | "
                         f"{goal} | {mark} |")
    return "\n".join(lines)


MEASURES = ["produce_cpu", "fetch_cpu", "request_cpu", "latency", "librdkafka", "many_partitions", "fsync_throughput", "groups", "start",
            "ten_thousand_partitions"]


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
