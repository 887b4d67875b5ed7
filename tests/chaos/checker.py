"""Decides from what the clients of a chaos run have told (workload.py) whether the cluster kept its promises.

    checker.py FOLDER      checks the logs of a run again

Pure, and linear in the number of lines. What has to hold:

    lost        an acknowledged record is there in the end, and so is one that somebody has read
    moved       it is at the offset that the producer was told
    doubled     a record is at one offset only. Two copies that a producer has sent under different epochs are its own doing: librdkafka
                takes a new epoch when it cannot find out what became of the former one's batches
    sequence    in each partition, the sequence numbers of a producer's epoch are consecutive from 0
    reordered   in each partition, the records of a producer are in the order in which it sent them; one that the producer was told
                to be unknown may come late, because the producer has gone on without it
    conflict    an offset of a partition holds one value, for all readers, members and acknowledgements of all times
    gap         offsets are consecutive from 0 to the end, for each reader
    phantom     what is read was sent, to this partition, and not refused
    commit      what a group has committed never goes back in the eyes of one observer, is never beyond the end, and is not less in
                the end than what a member was told to be committed
    skipped     what is below the committed offset was given to a member of the group
    client      no client gives up: with a fatal error, or with a position that is out of range. During some faults that is excused

transaction_checker.py lists what has to hold for transactions.
"""

import bisect
import collections
import sys

import transaction_checker
from history import Anomaly, at, load

EXCUSED_LATER_S = 10


def places(history):
    """(source, partition, offset, value) of everything that was acknowledged or read."""
    for partition, offset, value in history.acks:
        if offset >= 0:
            yield "its producer", partition, offset, value
    for source, (partition, offset, value) in history.everything_read():
        yield source, partition, offset, value


def check_conflicts(history):
    value_at, reported = {}, set()
    for source, partition, offset, value in places(history):
        place = (partition, offset)
        known, known_by = value_at.setdefault(place, (value, source))
        if known != value and place not in reported:
            reported.add(place)
            yield Anomaly("conflict", f"{at(*place)} is {known} for {known_by} and {value} for {source}")


def copies(history):
    """(value, place, other place) of each value that is at two places."""
    place_of, reported = {}, set()
    for _, partition, offset, value in places(history):
        first = place_of.setdefault(value, (partition, offset))
        if first != (partition, offset) and value not in reported:
            reported.add(value)
            yield value, first, (partition, offset)


def sender(history, place):
    """(producer id, epoch) of the batch at this place; None if it is not known."""
    partition, offset = place
    batches = history.batches.get(partition, [])
    index = bisect.bisect_right(batches, offset, key=lambda batch: batch.first) - 1
    if index < 0 or batches[index].last < offset:
        return None
    return batches[index].producer_id, batches[index].epoch


def sent_again(history, first, second):
    """Whether the producer has sent both copies, as two different records for the cluster."""
    one, other = sender(history, first), sender(history, second)
    return None not in (one, other) and one[0] == other[0] and one[1] != other[1]


def count_sent_again(history):
    return sum(sent_again(history, first, second) for _, first, second in copies(history))


def check_doubled(history):
    for value, first, second in copies(history):
        if not sent_again(history, first, second):
            yield Anomaly("doubled", f"{value} is at {at(*first)} and at {at(*second)}")


def check_sequences(history):
    for partition, batches in history.batches.items():
        expected = {}
        for first, last, producer_id, epoch, sequence, control in batches:
            if control:
                continue
            if sequence != expected.setdefault((producer_id, epoch), 0):
                yield Anomaly("sequence", f"{at(partition, first)} has sequence number {sequence} of producer {producer_id}, epoch {epoch}, "
                                          f"when {expected[producer_id, epoch]} was next")
            expected[producer_id, epoch] = sequence + last - first + 1


def check_acknowledged(history):
    """What was acknowledged, and what anybody has read, is there for the last reader."""
    final = {(record.partition, record.offset): record.value for record in history.readings.get(history.last_reader, [])}
    place_of = {value: place for place, value in final.items()}
    for partition, offset, value in history.acks:
        if final.get((partition, offset)) == value or offset < 0 and value in place_of:
            continue
        if value in place_of:
            yield Anomaly("moved", f"{value} was acknowledged at {at(partition, offset)} and is at {at(*place_of[value])}")
        else:
            yield Anomaly("lost", f"{value} was acknowledged at {at(partition, offset)} and is nowhere")
    gone = set()
    for source, (partition, offset, value) in history.everything_read():
        if value not in place_of and value not in gone:
            gone.add(value)
            yield Anomaly("lost", f"{value} was read by {source} at {at(partition, offset)} and is nowhere")


def check_sent(history):
    seen = set()
    for source, (partition, offset, value) in history.everything_read():
        if value in seen:
            continue
        seen.add(value)
        if value in history.refused:
            yield Anomaly("phantom", f"{value} was refused, and {source} has read it at {at(partition, offset)}")
        elif history.sent.get(value) != partition:
            where = history.sent.get(value)
            yield Anomaly("phantom", f"{value} was sent to {where or 'no partition'}, and {source} has read it at {at(partition, offset)}")


def check_order(history):
    latest, seen = {}, set()
    for record in sorted(history.readings.get(history.last_reader, []), key=lambda record: record[:2]):
        producer, _, sequence = record.value.rpartition(":")
        if record.value in seen or not sequence.isdigit():
            continue  # doubled or phantom: told elsewhere
        seen.add(record.value)
        previous = latest.get((producer, record.partition), -1)
        if int(sequence) > previous:
            latest[producer, record.partition] = int(sequence)
        elif record.value not in history.unknown:
            yield Anomaly("reordered", f"{record.value} is at {at(record.partition, record.offset)}, behind {producer}:{previous}")


def check_offsets(history):
    """Each reader reads every offset once, from 0 on; the last one as far as the end."""
    for reader, records in history.readings.items():
        expected = collections.Counter()
        for partition, offset, _ in records:
            if offset != expected[partition]:
                yield Anomaly("gap", f"{reader} has read {at(partition, offset)} when {expected[partition]} was next")
            expected[partition] = offset + 1
        if reader == history.last_reader:
            for partition, end in history.ends.items():
                if expected[partition] != end:
                    yield Anomaly("gap", f"{partition} ends at {end}, and {reader} has read up to {expected[partition]}")


def check_commits(history):
    latest, final = {}, {}
    for observer, group, partition, offset in history.looks:
        previous = latest.get((observer, group, partition), 0)
        if offset < previous:
            yield Anomaly("commit", f"{group} had committed {previous} of {partition}, and later {offset}, as {observer} sees it")
        latest[observer, group, partition] = offset
        final[group, partition] = offset
        if offset > history.ends.get(partition, offset):
            yield Anomaly("commit", f"{group} has committed {offset} of {partition}, which ends at {history.ends[partition]}")
    most = collections.Counter()
    for group, partition, offset in history.commits:
        most[group, partition] = max(most[group, partition], offset)
    for (group, partition), offset in most.items():
        if final.get((group, partition), 0) < offset:
            yield Anomaly("commit", f"{group} was told that {offset} of {partition} is committed; in the end it is "
                                    f"{final.get((group, partition), 'nothing')}")


def check_deliveries(history):
    final = {(look.group, look.partition): look.offset for look in history.looks}
    given = collections.defaultdict(set)
    for group, records in history.deliveries.items():
        for partition, offset, _ in records:
            given[group, partition].add(offset)
    for (group, partition), committed in final.items():
        missing = [offset for offset in range(committed) if offset not in given[group, partition]]
        if missing:
            yield Anomaly("skipped", f"{group} has committed {committed} of {partition}, and no member was given {len(missing)} of "
                                     f"these records: the first is {missing[0]}")


def check_gave_up(history):
    """Clients notice the end of a fault a little later."""
    for time, text in history.gave_up:
        if not any(begin <= time <= end + EXCUSED_LATER_S for begin, end in history.excuses):
            yield Anomaly("client", text)


def check(history):
    """All anomalies."""
    found = [Anomaly("client", complaint) for complaint in history.complaints]
    if not history.ends:
        found.append(Anomaly("client", "the last reader could not learn where the partitions end"))
    for each in [check_acknowledged, check_conflicts, check_doubled, check_sequences, check_order, check_offsets, check_sent, check_commits, check_deliveries,
                 check_gave_up, *transaction_checker.CHECKS]:
        found += each(history)
    return found


def summary(anomalies, examples=5):
    """Printable lines: all kinds, some of each."""
    by_kind = collections.defaultdict(list)
    for anomaly in anomalies:
        by_kind[anomaly.kind].append(anomaly.text)
    for kind, texts in by_kind.items():
        yield f"{kind}: {len(texts)}"
        yield from (f"    {text}" for text in texts[:examples])
        if len(texts) > examples:
            yield f"    and {len(texts) - examples} more"


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: checker.py FOLDER")
    history = load(sys.argv[1])
    anomalies = check(history)
    print("\n".join(summary(anomalies)) or f"fine: {len(history.acks)} acknowledged records")
    sys.exit(1 if anomalies else 0)


if __name__ == "__main__":
    main()
