"""The clients of a chaos run, each a process of its own: what the harness waits for does not hold them up, and they can be killed.

    workload.py producer NAME BOOTSTRAP PARTITIONS RATE
    workload.py reader BOOTSTRAP PARTITIONS follow|to-the-end
    workload.py watcher BOOTSTRAP PARTITIONS GROUP,GROUP...
    workload.py begin BOOTSTRAP PARTITIONS GROUP,GROUP...     commits offset 0 for groups that do not exist yet, and ends

PARTITIONS are separated by commas: TOPIC/NUMBER. A program ends in order when its standard input ends. It prints a line for everything
that happens, at once, so that being killed takes nothing back; TIME is the machine's monotonic clock in seconds.

    sent TIME PARTITION VALUE             before the client library has it; VALUE is NAME:SEQUENCE
    ok TIME PARTITION OFFSET VALUE        acknowledged; OFFSET is -1 if the library has concluded that from later answers
    unknown TIME PARTITION VALUE ERROR    it may be there or not: timeouts are of this kind
    refused TIME PARTITION VALUE ERROR    it is not there for certain
    fatal TIME ERROR                      the library has given up; the program goes on with a new producer

    read PARTITION OFFSET VALUE           each partition from its beginning
    reset TIME PARTITION ERROR            the position is said to be out of range, though it was read up to there; it is tried again
    end PARTITION OFFSET                  the end, as told when there is nothing more to come; what is read up to there is all

    seen GROUP PARTITION OFFSET           what the group has committed
    blind GROUP                           at the end, committed offsets cannot be read

Members of groups are group_member.py of the system tests.
"""

import collections
import contextlib
import sys
import threading
import time

from confluent_kafka import OFFSET_INVALID, Consumer, KafkaError, KafkaException, Producer, TopicPartition

# What a partition may have on its way. One that takes nothing does not hold up the others.
MOST_IN_FLIGHT = 40
TICK_S = 0.02
LOOK_S = 1.0
PATIENCE_S = 60
# A broker that is cut off answers nothing and closes nothing: only its silence tells.
CLIENT = {"socket.timeout.ms": 5000, "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 500,
          "topic.metadata.refresh.interval.ms": 2000, "metadata.max.age.ms": 6000, "log_level": 0}
# No attempt of such a record was stored. After any other error, an earlier attempt may have been.
REFUSALS = {KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG}


def tell(*words):
    print(*words, flush=True)


def one_line(error):
    return str(error).replace("\n", " ")


def topic_and_number(partition):
    topic, _, number = partition.rpartition("/")
    return topic, int(number)


def name_of(message):
    return f"{message.topic()}/{message.partition()}"


class IdempotentProducer:
    """Sends numbers to all partitions in turn. Patient: a record is tried again until the run ends."""

    def __init__(self, name, bootstrap, partitions, rate):
        self.name, self.partitions, self.rate = name, partitions, rate
        self.config = {**CLIENT, "bootstrap.servers": bootstrap, "enable.idempotence": True, "acks": "all", "linger.ms": 5,
                       "retry.backoff.ms": 50, "message.timeout.ms": 600_000}
        self.in_flight = collections.Counter()
        self.sequence, self.turn, self.due = 0, 0, 0.0
        self.client = Producer(self.config)

    def delivered(self, error, message):
        partition, value, now = name_of(message), message.value().decode(), f"{time.monotonic():.3f}"
        self.in_flight[partition] -= 1
        if error is None:
            tell("ok", now, partition, -1 if message.offset() is None else message.offset(), value)
        else:
            tell("refused" if error.code() in REFUSALS else "unknown", now, partition, value, one_line(error))

    def send(self, partition):
        topic, number = topic_and_number(partition)
        value = f"{self.name}:{self.sequence}"
        self.sequence += 1
        self.in_flight[partition] += 1
        tell("sent", f"{time.monotonic():.3f}", partition, value)
        self.client.produce(topic, value.encode(), partition=number, on_delivery=self.delivered)

    def replace_client(self, failure):
        """The library raises a fatal error from whatever is called next."""
        tell("fatal", f"{time.monotonic():.3f}", one_line(failure))
        with contextlib.suppress(KafkaException):
            self.client.purge()
            self.client.flush(1)
        self.in_flight.clear()
        self.client = Producer(self.config)

    def send_what_is_due(self):
        while self.due >= 1:
            self.due -= 1
            self.turn += 1
            partition = self.partitions[self.turn % len(self.partitions)]
            if self.in_flight[partition] < MOST_IN_FLIGHT:
                self.send(partition)

    def run(self, stop):
        last = time.monotonic()
        while not stop.is_set():
            now = time.monotonic()
            self.due, last = min(self.due + (now - last) * self.rate, self.rate), now  # after a pause, a second's worth at most
            try:
                self.client.poll(TICK_S)
                self.send_what_is_due()
            except KafkaException as failure:
                self.replace_client(failure)
        try:
            self.client.flush(PATIENCE_S)
        except KafkaException as failure:
            self.replace_client(failure)


def consumer(bootstrap, group, **config):
    return Consumer({**CLIENT, "bootstrap.servers": bootstrap, "group.id": group, "enable.auto.commit": False, "check.crcs": True,
                     "auto.offset.reset": "error", **config})


def ends(client, partitions):
    """Of all partitions, asked until all are known."""
    found, deadline = {}, time.monotonic() + PATIENCE_S
    while len(found) < len(partitions) and time.monotonic() < deadline:
        for partition in partitions:
            if partition in found:
                continue
            try:
                found[partition] = client.get_watermark_offsets(TopicPartition(*topic_and_number(partition)), timeout=5)[1]
            except KafkaException:
                time.sleep(0.1)
    return found


class Reader:
    """Reads all partitions from their beginning, each record once."""

    def __init__(self, bootstrap, partitions):
        self.bootstrap = bootstrap
        self.position = dict.fromkeys(partitions, 0)
        self.begin()

    def begin(self):
        self.client = consumer(self.bootstrap, "readers")
        self.client.assign([TopicPartition(*topic_and_number(partition), offset) for partition, offset in self.position.items()])

    def read(self):
        """What there is now; whether there was anything."""
        messages, is_reset = self.client.consume(1000, 0.1), False
        for message in messages:
            if message.error() is None:
                tell("read", name_of(message), message.offset(), message.value().decode())
                self.position[name_of(message)] = message.offset() + 1
            elif message.error().code() == KafkaError._AUTO_OFFSET_RESET:
                tell("reset", f"{time.monotonic():.3f}", name_of(message), one_line(message.error()))
                is_reset = True
            else:
                self.other(message)
        if is_reset:
            self.client.close()
            self.begin()
        return any(message.error() is None for message in messages)

    def other(self, message):
        """One that is no record; the library goes on by itself."""

    def follow(self, stop):
        while not stop.is_set():
            self.read()

    def read_to_the_end(self, stop):
        goal = ends(self.client, list(self.position))
        deadline = time.monotonic() + PATIENCE_S
        while any(self.position[each] < goal[each] for each in goal) and time.monotonic() < deadline and not stop.is_set():
            if self.read():
                deadline = time.monotonic() + PATIENCE_S
        for partition, end in goal.items():
            tell("end", partition, end)


def look(client, group, partitions):
    """Tells what is committed; whether it could be read."""
    try:
        found = client.committed([TopicPartition(*topic_and_number(partition)) for partition in partitions], timeout=5)
    except KafkaException:
        return False
    if any(each.error for each in found):
        return False
    for each in found:
        if each.offset != OFFSET_INVALID:
            tell("seen", group, f"{each.topic}/{each.partition}", each.offset)
    return True


def begin(bootstrap, partitions, groups):
    """From then on, a member that is told to have no valid position is told something wrong."""
    deadline = time.monotonic() + PATIENCE_S
    for group in groups:
        client = consumer(bootstrap, group)
        while True:
            try:
                client.commit(offsets=[TopicPartition(*topic_and_number(partition), 0) for partition in partitions], asynchronous=False)
                break
            except KafkaException:
                if time.monotonic() > deadline:
                    raise


def watch(bootstrap, partitions, groups, stop):
    clients = {group: consumer(bootstrap, group) for group in groups}
    while not stop.wait(LOOK_S):
        for group, client in clients.items():
            look(client, group, partitions)
    deadline = time.monotonic() + PATIENCE_S
    for group, client in clients.items():
        while not look(client, group, partitions):
            if time.monotonic() > deadline:
                tell("blind", group)
                break
            time.sleep(0.1)


def end_of_input():
    """An event; whoever has started this program ends it so."""
    ended = threading.Event()

    def listen():
        sys.stdin.read()
        ended.set()

    threading.Thread(target=listen, daemon=True).start()
    return ended


def main():
    role, *arguments = sys.argv[1:]
    stop = end_of_input()
    if role == "producer":
        name, bootstrap, partitions, rate = arguments
        IdempotentProducer(name, bootstrap, partitions.split(","), float(rate)).run(stop)
    elif role == "reader":
        bootstrap, partitions, mode = arguments
        reader = Reader(bootstrap, partitions.split(","))
        (reader.follow if mode == "follow" else reader.read_to_the_end)(stop)
        reader.client.close()
    elif role == "begin":
        bootstrap, partitions, groups = arguments
        begin(bootstrap, partitions.split(","), groups.split(","))
    elif role == "watcher":
        bootstrap, partitions, groups = arguments
        watch(bootstrap, partitions.split(","), groups.split(","), stop)
    else:
        sys.exit(f"there is no role {role}")


if __name__ == "__main__":
    main()
