"""Faults in the middle of the work: what happens when so and so much of the output was read. The checks of whole programs share it."""

import time

from scenario import require

LONG_TIMEOUT_S = 900


def spread(total, actions, dice):
    """[(progress, action)]: the actions in this order, at about equal distances."""
    step = total // (len(actions) + 1)
    return [(step * (i + 1) - dice.randrange(step // 4), action) for i, action in enumerate(actions)]


def play(scene, reader, total, events, feed, ahead, programs):
    """Runs until the reader has read all and ends; what it printed. `feed(end)` makes input up to that number: never more than `ahead`
    beyond the next event, so that none finds all work done. `programs()` are those that must not end by themselves."""
    events, deadline = list(events), time.monotonic() + LONG_TIMEOUT_S
    while reader.open:
        next_at = events[0][0] if events else total
        feed(min(total, next_at + ahead))
        with scene.news:
            changed = scene.news.wait_for(
                lambda: not reader.open or events and len(reader.lines) >= next_at or any(not each.open for each in programs()),
                max(0, deadline - time.monotonic()))
        words = "\n".join(each.last_words() for each in programs())
        require(changed, f"{len(reader.lines)} of {total} were read within {LONG_TIMEOUT_S} s\n{words}")
        require(all(each.open for each in programs()) or not reader.open, f"a program has ended by itself:\n{words}")
        if events and len(reader.lines) >= next_at:
            events.pop(0)[1]()
    require(reader.process.wait(LONG_TIMEOUT_S) == 0, f"the reader failed:\n{reader.last_words()}")
    reader.listeners[0].join()
    require(not events, f"{len(events)} faults were left when everything was read")
    return list(reader.lines)


def check_once(who, numbers, expected):
    """Each of the expected numbers is there once, and nothing else."""
    expected = set(expected)
    require(not (lost := expected - set(numbers)), f"{who}: {len(lost)} are lost, the first is {min(lost, default=None)}")
    require(not (strange := set(numbers) - expected), f"{who}: {len(strange)} do not belong there, the first is {min(strange, default=None)}")
    require(len(numbers) == len(expected), f"{who}: {len(numbers) - len(expected)} are doubled")


def check_ascending(who, numbers):
    for before, after in zip(numbers, numbers[1:]):
        require(before < after, f"{who}: {after} stands behind {before}")
