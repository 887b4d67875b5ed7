"""The part of the checker that judges transactions: what a writer was told, against what readers of committed records see.

    torn        of a transaction all records are there in the end, or none
    lost        all, if its commit was acknowledged
    aborted     none, if its abort was
    doubled     a record is at one offset only
    reordered   in each partition, the records of a writer are in the order of its transactions, and those of a writer that took the
                place of another one behind all of that one
    phantom     what is read was written, to this partition
    conflict    a reader that looked on has read, in each partition, the beginning of what the last one reads
    copy        the copy of a partition has the same records in the same order
"""

import collections
import itertools

from history import Anomaly, at

SOURCE, COPY = "transacted", "copied"


def by_partition(records):
    found = collections.defaultdict(list)
    for record in records:
        found[record.partition].append(record)
    return found


def last_reading(history, topic):
    """partition -> [Record]"""
    records = history.committed.get(history.last_committed, [])
    return by_partition(record for record in records if record.partition.startswith(topic + "/"))


def check_whole(history):
    there = {record.value for records in last_reading(history, SOURCE).values() for record in records}
    for (writer, number), transaction in history.transactions.items():
        missing = [value for value in transaction.writes if value not in there]
        found = len(transaction.writes) - len(missing)
        name = f"transaction {number} of writer {writer}"
        if transaction.outcome == "committed" and missing:
            yield Anomaly("lost", f"{name} is committed, and {len(missing)} of its {len(transaction.writes)} records are nowhere: "
                                  f"the first is {missing[0]}")
        elif transaction.outcome == "aborted" and found:
            yield Anomaly("aborted", f"{name} is aborted, and {found} of its records can be read")
        elif missing and found:
            yield Anomaly("torn", f"{name} has {found} records that can be read, and {len(missing)} that cannot: the first is {missing[0]}")


def partition_of_values(history):
    return {value: partition for transaction in history.transactions.values() for value, partition in transaction.writes.items()}


def check_written(history):
    partition_of = partition_of_values(history)
    for records in last_reading(history, SOURCE).values():
        for partition, offset, value in records:
            if (where := partition_of.get(value)) != partition:
                yield Anomaly("phantom", f"{value} was written to {where or 'no partition'}, and is at {at(partition, offset)}")


def place_in_order(value):
    """(who writes with this transactional id, (its how manyth process, number, index))"""
    writer, number, index = value.split(":")
    slot, _, incarnation = writer.partition(".")
    return slot, (int(incarnation), int(number), int(index))


def check_order(history):
    partition_of = partition_of_values(history)
    for partition, records in last_reading(history, SOURCE).items():
        latest, seen = {}, {}
        for _, offset, value in records:
            if partition_of.get(value) != partition:
                continue  # a phantom: told elsewhere
            if value in seen:
                yield Anomaly("doubled", f"{value} is at {at(partition, seen[value])} and at {at(partition, offset)}")
                continue
            seen[value] = offset
            slot, order = place_in_order(value)
            if order < latest.get(slot, (order, value))[0]:
                yield Anomaly("reordered", f"{value} is at {at(partition, offset)}, behind {latest[slot][1]}")
            else:
                latest[slot] = order, value


def check_onlookers(history):
    final = by_partition(history.committed.get(history.last_committed, []))
    for reader, readings in history.committed.items():
        for partition, records in by_partition(readings).items():
            for mine, last in itertools.zip_longest(records, final[partition][:len(records)]):
                if mine != last:
                    there = f"{last.value} at offset {last.offset}" if last else "nothing more"
                    yield Anomaly("conflict", f"{reader} has read {mine.value} at {at(partition, mine.offset)}, and the last reader {there}")
                    break


def check_copies(history):
    source, copy = last_reading(history, SOURCE), last_reading(history, COPY)
    for number in sorted({partition.rpartition("/")[2] for partition in [*source, *copy]}):
        wanted = [record.value for record in source[f"{SOURCE}/{number}"]]
        found = [record.value for record in copy[f"{COPY}/{number}"]]
        if wanted == found:
            continue
        missing, more = (collections.Counter(a) - collections.Counter(b) for a, b in ((wanted, found), (found, wanted)))
        for value in missing:
            yield Anomaly("copy", f"{value} of {SOURCE}/{number} is not in {COPY}/{number}")
        for value in more:
            yield Anomaly("copy", f"{value} is in {COPY}/{number} {found.count(value)} times, and in {SOURCE}/{number} {wanted.count(value)}")
        if not missing and not more:
            value = next(value for value, other in zip(found, wanted) if value != other)
            yield Anomaly("copy", f"{value} is not in its place in {COPY}/{number}")


def check_end(history):
    if history.transactions and not history.committed_ends:
        yield Anomaly("client", "the last reader of committed records has not come to the end")


CHECKS = [check_end, check_whole, check_written, check_order, check_onlookers, check_copies]
