"""The clients of a soak that a chaos run does not have, each a process of its own, as in workload.py:

    soak_workload.py table BOOTSTRAP TOPIC RATE         keyed records and tombstones, idempotent (librdkafka)
    soak_workload.py rows BOOTSTRAP TOPIC               reads a compacted topic to its end
    soak_workload.py stream-in BOOTSTRAP TOPIC RATE     numbers, one partition after the other (kafka-python)
    soak_workload.py stream-out BOOTSTRAP TOPIC GROUP   reads them as a member of a group (kafka-python)

    put KEY VALUE             before the client library has it; VALUE is "-" for a tombstone
    failed KEY ERROR          not acknowledged
    row KEY VALUE             what is there in the end: the last record of a key
    end                       all rows have been told
    read PARTITION FIRST LAST numbers of the stream that this member has read one after the other
"""

import random
import sys
import time

from workload import CLIENT, PATIENCE_S, consumer, end_of_input, one_line, tell

KEYS = 200
TOMBSTONES = 0.2


def write_table(bootstrap, topic, rate, stop):
    from confluent_kafka import Producer
    client = Producer({**CLIENT, "bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5, "message.timeout.ms": 600_000})
    chance = random.Random(topic)

    def delivered(error, message):
        if error is not None:
            tell("failed", message.key().decode(), one_line(error))

    number = 0
    while not stop.wait(1 / rate):
        key, value = f"k{chance.randrange(KEYS)}", "-" if chance.random() < TOMBSTONES else f"v{number}"
        number += 1
        tell("put", key, value)
        client.produce(topic, key=key.encode(), value=None if value == "-" else value.encode(), on_delivery=delivered)
        client.poll(0)
    client.flush(PATIENCE_S)


def read_rows(bootstrap, topic):
    from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition
    client = consumer(bootstrap, "rows", **{"enable.partition.eof": True})
    numbers = list(client.list_topics(topic, timeout=PATIENCE_S).topics[topic].partitions)
    client.assign([TopicPartition(topic, number, OFFSET_BEGINNING) for number in numbers])
    rows, open_partitions, deadline = {}, set(numbers), time.monotonic() + PATIENCE_S
    while open_partitions and time.monotonic() < deadline:
        for message in client.consume(1000, 0.2):
            if message.error() is None:
                rows[message.key().decode()] = message.value().decode() if message.value() is not None else "-"
            elif message.error().code() == KafkaError._PARTITION_EOF:
                open_partitions.discard(message.partition())
    for key, value in rows.items():
        tell("row", key, value)
    if not open_partitions:
        tell("end")
    client.close()


def patient(call, *arguments, **options):
    """kafka-python gives up after some tries; the numbers of the stream must not."""
    from kafka.errors import KafkaError
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return call(*arguments, **options)
        except KafkaError:
            if time.monotonic() > deadline:
                raise


def write_stream(bootstrap, topic, rate, stop):
    """One record on its way at a time: one that is sent again may be stored twice, but none can be overtaken."""
    from kafka import KafkaProducer
    client = KafkaProducer(bootstrap_servers=bootstrap.split(","), acks="all", max_in_flight_requests_per_connection=1, retries=0,
                           request_timeout_ms=5000, compression_type="gzip", api_version=(2, 0, 0))
    partitions = sorted(patient(client.partitions_for, topic))
    numbers, turn = dict.fromkeys(partitions, 0), 0
    while not stop.wait(1 / rate):
        partition = partitions[turn % len(partitions)]
        turn += 1
        value = str(numbers[partition]).encode().ljust(512)
        patient(lambda: client.send(topic, value, partition=partition).get(5))
        numbers[partition] += 1
    client.close(5)


def read_stream(bootstrap, topic, group, stop):
    from kafka import KafkaConsumer
    client = KafkaConsumer(topic, bootstrap_servers=bootstrap.split(","), group_id=group, auto_offset_reset="earliest", session_timeout_ms=6000,
                           heartbeat_interval_ms=500, request_timeout_ms=15_000, enable_auto_commit=True, auto_commit_interval_ms=1000,
                           api_version=(2, 0, 0))
    ranges = {}  # by partition: [first, last], without gaps
    while not stop.is_set():
        for place, messages in client.poll(timeout_ms=200).items():
            for message in messages:
                number, read = int(message.value), ranges.setdefault(place.partition, [int(message.value), int(message.value)])
                if not read[0] <= number <= read[1] + 1:  # another member had it meanwhile
                    tell("read", place.partition, *read)
                    ranges[place.partition] = [number, number]
                else:
                    read[1] = max(read[1], number)
    for partition, read in ranges.items():
        tell("read", partition, *read)
    client.close()


def main():
    role, bootstrap, topic, *rest = sys.argv[1:]
    stop = end_of_input()
    if role == "table":
        write_table(bootstrap, topic, float(rest[0]), stop)
    elif role == "rows":
        read_rows(bootstrap, topic)
    elif role == "stream-in":
        write_stream(bootstrap, topic, float(rest[0]), stop)
    elif role == "stream-out":
        read_stream(bootstrap, topic, rest[0], stop)
    else:
        sys.exit(f"there is no role {role}")


if __name__ == "__main__":
    main()
