"""The transactional clients of a chaos run, each a process of its own, as in workload.py:

    transaction_workload.py writer NAME TRANSACTIONAL_ID BOOTSTRAP PARTITIONS RATE
    transaction_workload.py copier TRANSACTIONAL_ID BOOTSTRAP GROUP SOURCE COPY
    transaction_workload.py reader BOOTSTRAP PARTITIONS follow|to-the-end

A writer writes to some of the partitions in each transaction, and aborts some of them on purpose. A copier copies a topic, each record to
the partition of the same number, in transactions that carry its offsets. A reader reads what is committed.

    begun TIME NUMBER PARTITION VALUE...  a transaction with all that it will write; VALUE is NAME:NUMBER:INDEX
    committed TIME NUMBER                 acknowledged, as
    aborted TIME NUMBER                   is this. A transaction with neither may be committed or aborted, but not in part
    fatal TIME ERROR                      the library has given up; the program goes on with a new client

    copied TIME COUNT                     a transaction of a copier
    dropped TIME ERROR                    one that it had to abort; the records will be read again
    reset TIME PARTITION ERROR            as in workload.py; it goes on from what is committed

    read PARTITION OFFSET VALUE           each partition from its beginning; reset as above
    eof PARTITION OFFSET                  there is nothing more to read now
    end PARTITION OFFSET                  the last reader has read all
"""

import os
import random
import sys
import time

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

from workload import CLIENT, PATIENCE_S, Reader, consumer, end_of_input, name_of, one_line, tell, topic_and_number

TIMEOUT_MS = 15_000  # of a transaction: for so long one that nobody ends holds up readers
CALL_S = 5
PARTITIONS_EACH, RECORDS_EACH = 3, 2
ABORTED = 0.2  # of all transactions, on purpose
MOST_COPIED = 100
POLL_S = 0.1
STRICT = os.environ.get("CHAOS_STRICT") == "1"  # README.md, Excuses


def now():
    return f"{time.monotonic():.3f}"


def until_answered(call, *arguments):
    """A call that has not got its answer in time is still under way, and is repeated to go on waiting."""
    while True:
        try:
            return call(*arguments, CALL_S)
        except KafkaException as failure:
            if not failure.args[0].retriable():
                raise


def transactional_producer(bootstrap, transactional_id):
    client = Producer({**CLIENT, "bootstrap.servers": bootstrap, "transactional.id": transactional_id, "transaction.timeout.ms": TIMEOUT_MS,
                       "linger.ms": 2, "retry.backoff.ms": 50})
    until_answered(client.init_transactions)
    return client


def patient_producer(bootstrap, transactional_id):
    """Tells of each time that a new one was needed."""
    while True:
        try:
            return transactional_producer(bootstrap, transactional_id)
        except KafkaException as failure:
            tell("fatal", now(), one_line(failure))


class Deliveries:
    """Which records of a transaction were acknowledged. After an abort, librdkafka 2.0 gives the sequence numbers of records that it has
    dropped to the next ones. If they were stored after all, the broker refuses the next ones as out of order, which is the end of that
    client (Apache Kafka takes them for repetitions, and they are lost). A new client has a new epoch."""

    def __init__(self):
        self.sent, self.acknowledged = 0, 0

    def produce(self, client, topic, value, partition):
        self.sent += 1
        client.produce(topic, value, partition=partition, on_delivery=self.delivered)

    def delivered(self, error, _):
        self.acknowledged += error is None


def abort(client, deliveries):
    """Whether the client can be used afterwards."""
    try:
        until_answered(client.abort_transaction)
    except KafkaException as failure:
        # While the markers of the transaction before are on their way, nothing can be added. librdkafka asks to end what was not begun,
        # and takes the answer for fatal: its issue 4849.
        if failure.args[0].code() != KafkaError.INVALID_TXN_STATE or deliveries.acknowledged:
            raise
        return False
    client.poll(0)
    return STRICT or deliveries.acknowledged == deliveries.sent


class Writer:
    def __init__(self, name, transactional_id, bootstrap, partitions, rate):
        self.name, self.transactional_id, self.bootstrap, self.partitions, self.rate = name, transactional_id, bootstrap, partitions, rate
        self.chance = random.Random(name)
        self.number = -1
        self.client = patient_producer(bootstrap, transactional_id)

    def plan(self):
        """(partition, value) of the next transaction."""
        self.number += 1
        places = [place for place in self.chance.sample(self.partitions, min(PARTITIONS_EACH, len(self.partitions))) for _ in range(RECORDS_EACH)]
        return [(place, f"{self.name}:{self.number}:{index}") for index, place in enumerate(places)]

    def write(self):
        writes = self.plan()
        tell("begun", now(), self.number, *(word for write in writes for word in write))
        self.client.begin_transaction()
        self.deliveries = Deliveries()
        for partition, value in writes:
            topic, number = topic_and_number(partition)
            self.deliveries.produce(self.client, topic, value.encode(), number)
        if self.chance.random() >= ABORTED:
            until_answered(self.client.commit_transaction)
            tell("committed", now(), self.number)
        else:
            self.client.flush(self.chance.choice([0, 0.05, CALL_S]))  # else the library may not have sent anything
            self.abort()

    def abort(self):
        if not abort(self.client, self.deliveries):
            self.client = patient_producer(self.bootstrap, self.transactional_id)
        tell("aborted", now(), self.number)

    def write_or_recover(self):
        try:
            try:
                self.write()
            except KafkaException as failure:
                if not failure.args[0].txn_requires_abort():
                    raise
                self.abort()
        except KafkaException as failure:
            tell("fatal", now(), one_line(failure))
            self.client = patient_producer(self.bootstrap, self.transactional_id)

    def run(self, stop):
        due = time.monotonic()
        while not stop.wait(max(0.0, due - time.monotonic())):
            due = max(due + 1 / self.rate, time.monotonic())
            self.write_or_recover()


class Copier:
    def __init__(self, transactional_id, bootstrap, group, source, copy):
        self.transactional_id, self.bootstrap, self.group, self.source, self.copy = transactional_id, bootstrap, group, source, copy
        self.begin()

    def begin(self):
        """First the producer: it ends what a former one has left open, and so decides the offsets that the consumer asks for."""
        self.batch, self.membership = [], None
        self.client = patient_producer(self.bootstrap, self.transactional_id)
        self.reader = Consumer({**CLIENT, "bootstrap.servers": self.bootstrap, "group.id": self.group, "isolation.level": "read_committed",
                                "enable.auto.commit": False, "auto.offset.reset": "error", "session.timeout.ms": 6000,
                                "heartbeat.interval.ms": 500, "check.crcs": True})
        self.reader.subscribe([self.source], on_assign=self.assigned, on_revoke=self.revoked, on_lost=self.revoked)

    def assigned(self, reader, _):
        # Not later: a member that has lost its place, and does not know yet, would be told that it is none, and then could commit.
        self.membership = reader.consumer_group_metadata()

    def revoked(self, *_):
        self.batch, self.membership = [], None

    def read(self):
        """Whatever there is; a rebalance meanwhile takes it all back."""
        while len(self.batch) < MOST_COPIED:
            message = self.reader.poll(POLL_S)
            if message is None:
                return
            if message.error() is None:
                self.batch.append(message)
            elif message.error().code() == KafkaError._AUTO_OFFSET_RESET:
                tell("reset", now(), name_of(message), one_line(message.error()))
                self.begin_again()

    def write(self):
        self.client.begin_transaction()
        self.deliveries = Deliveries()
        offsets = {}
        for message in self.batch:
            self.deliveries.produce(self.client, self.copy, message.value(), message.partition())
            offsets[message.partition()] = message.offset() + 1
        until_answered(self.client.send_offsets_to_transaction,
                       [TopicPartition(self.source, partition, offset) for partition, offset in offsets.items()], self.membership)
        until_answered(self.client.commit_transaction)
        tell("copied", now(), len(self.batch))
        self.batch = []

    def drop(self, failure):
        if not abort(self.client, self.deliveries):
            self.client = patient_producer(self.bootstrap, self.transactional_id)
        tell("dropped", now(), one_line(failure))
        first = {}
        for message in self.batch:
            first.setdefault(message.partition(), message.offset())
        self.batch = []
        try:
            for partition, offset in first.items():
                self.reader.seek(TopicPartition(self.source, partition, offset))
        except KafkaException:  # not its partition any more, or not yet read from
            self.begin_again()

    def copy_or_recover(self):
        self.read()
        if not self.batch:
            return
        try:
            try:
                self.write()
            except KafkaException as failure:
                if not failure.args[0].txn_requires_abort():
                    raise
                self.drop(failure)
        except KafkaException as failure:
            tell("fatal", now(), one_line(failure))
            self.begin_again()

    def begin_again(self):
        self.reader.close()
        self.begin()

    def run(self, stop):
        while not stop.is_set():
            self.copy_or_recover()
        self.reader.close()


class CommittedReader(Reader):
    """Tells whenever it has come to the end of a partition, which is beyond its last record: there are markers."""

    def begin(self):
        self.ended = {}
        self.client = consumer(self.bootstrap, "readers", **{"isolation.level": "read_committed", "enable.partition.eof": True})
        self.client.assign([TopicPartition(*topic_and_number(partition), offset) for partition, offset in self.position.items()])

    def other(self, message):
        if message.error().code() != KafkaError._PARTITION_EOF:
            return
        partition = name_of(message)
        if self.ended.get(partition) != message.offset():
            self.ended[partition] = message.offset()
            tell("eof", partition, message.offset())

    def read_to_the_end(self, stop):
        deadline = time.monotonic() + PATIENCE_S
        while len(self.ended) < len(self.position) and time.monotonic() < deadline and not stop.is_set():
            if self.read():
                deadline = time.monotonic() + PATIENCE_S
        if len(self.ended) == len(self.position):
            for partition, end in self.ended.items():
                tell("end", partition, end)


def main():
    role, *arguments = sys.argv[1:]
    stop = end_of_input()
    if role == "writer":
        name, transactional_id, bootstrap, partitions, rate = arguments
        Writer(name, transactional_id, bootstrap, partitions.split(","), float(rate)).run(stop)
    elif role == "copier":
        Copier(*arguments).run(stop)
    elif role == "reader":
        bootstrap, partitions, mode = arguments
        reader = CommittedReader(bootstrap, partitions.split(","))
        (reader.follow if mode == "follow" else reader.read_to_the_end)(stop)
        reader.client.close()
    else:
        sys.exit(f"there is no role {role}")


if __name__ == "__main__":
    main()
