"""What a broker's process holds while it lives: resident memory, descriptors, threads. Judges whether any of it grows."""

import collections
import os
import statistics

from history import Anomaly

Sample = collections.namedtuple("Sample", "time memory descriptors threads")  # memory in bytes
WARM_UP = 0.1  # of the time: caches fill, and every kind of client has come once
MEMORY_GROWTH = 0.02


def look_at(pid, time):
    """A sample of this process, now."""
    with open(f"/proc/{pid}/status") as file:
        fields = dict(line.split(":", 1) for line in file)
    return Sample(time, int(fields["VmRSS"].split()[0]) * 1024, len(os.listdir(f"/proc/{pid}/fd")), int(fields["Threads"]))


def halves(samples):
    """The samples after the warm-up, in two halves of the same length of time."""
    begin, end = samples[0].time, samples[-1].time
    warm = begin + (end - begin) * WARM_UP
    middle = (warm + end) / 2
    return [s for s in samples if warm <= s.time < middle], [s for s in samples if s.time >= middle]


def mean_memory(samples):
    return statistics.fmean(sample.memory for sample in samples)


def check(name, samples):
    """Memory may not grow by more than MEMORY_GROWTH on average; the fewest descriptors and threads not at all. The fewest: connections
    come and go, and what leaks raises the floor."""
    first, second = halves(samples)
    if not first or not second:
        yield Anomaly("soak", f"{name}: {len(samples)} samples are too few to compare")
        return
    before, after = mean_memory(first), mean_memory(second)
    if after > before * (1 + MEMORY_GROWTH):
        yield Anomaly("soak", f"{name}: resident memory grew from {before / 1e6:.2f} MB to {after / 1e6:.2f} MB "
                              f"({after / before - 1:+.1%}, at most {MEMORY_GROWTH:.0%} is allowed)")
    for what in ("descriptors", "threads"):
        before, after = (min(getattr(sample, what) for sample in half) for half in (first, second))
        if after > before:
            yield Anomaly("soak", f"{name}: {what} grew from {before} to {after}")


def describe(name, samples):
    first, second = halves(samples)
    memory = " -> ".join(f"{mean_memory(half) / 1e6:.2f}" for half in (first, second) if half)
    floors = {what: " -> ".join(str(min(getattr(sample, what) for sample in half)) for half in (first, second) if half)
              for what in ("descriptors", "threads")}
    return f"{name}: memory {memory} MB, descriptors {floors['descriptors']}, threads {floors['threads']}"
