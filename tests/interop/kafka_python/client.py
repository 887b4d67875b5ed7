"""The program of the client kafka-python."""

import contextlib
import sys
import threading
import time

from kafka import ConsumerRebalanceListener, KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

FIRST_TIMESTAMP = 1700000000000
TIMEOUT_S = 60
LONG_WAIT_S = 40  # so long that a record which does not end the wait of a fetch is missed
SHORT_WAIT_S = 0.1
FOLLOWED_PARTITIONS = 4
FOLLOW_WINDOW = 100
ASSIGNORS = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}


def require(condition, what):
    if not condition:
        raise RuntimeError(what)


def admin(bootstrap, topic):
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    # Records with such old timestamps are kept only without retention.
    client.create_topics({topic: {"num_partitions": 2, "replication_factor": 1, "configs": {"retention.ms": "-1"}}})
    print("create")
    require(topic in client.list_topics(), "not listed")
    print("list")
    (described,) = client.describe_topics([topic])
    require(len(described["partitions"]) == 2, f"{described}")
    print("describe")
    require(config_of(client, topic)["retention.ms"] == "-1", "retention.ms")
    print("describe-configs")
    client.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"max.message.bytes": "2000000"})])
    require(config_of(client, topic)["max.message.bytes"] == "2000000", "max.message.bytes")
    print("alter-configs")
    client.create_partitions({topic: 3})
    print("create-partitions")
    client.close()


def config_of(client, topic):
    described = client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)], config_filter="all")
    return {name: entry["value"] for name, entry in described["topic"][topic].items()}


def delete(bootstrap, topic):
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    client.delete_topics([topic])
    client.close()


def produce(bootstrap, topic, codec, count):
    producer = KafkaProducer(bootstrap_servers=bootstrap, compression_type=None if codec == "none" else codec, linger_ms=20, acks="all")
    sent = [producer.send(topic, f"{codec} {i}".encode(), f"key {i}".encode(), partition=0, timestamp_ms=FIRST_TIMESTAMP + i,
                          headers=[("number", str(i).encode())]) for i in range(int(count))]
    for each in sent:
        each.get(TIMEOUT_S)
    producer.close()


def consume(bootstrap, topic, count):
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", consumer_timeout_ms=TIMEOUT_S * 1000)
    consumer.assign([TopicPartition(topic, 0)])
    left = int(count)
    while left:
        message = next(consumer)
        name, header = message.headers[0]
        print(message.offset, message.key.decode(), message.value.decode(), f"{name}={header.decode()}", message.timestamp, sep="\t")
        left -= 1
    consumer.close()


def follow(bootstrap, topic, count):
    count, read, sent = int(count), 0, []
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=LONG_WAIT_S * 1000,
                             request_timeout_ms=LONG_WAIT_S * 2000)
    consumer.assign([TopicPartition(topic, i) for i in range(FOLLOWED_PARTITIONS)])
    producer = KafkaProducer(bootstrap_servers=bootstrap, linger_ms=0)
    permitted, heard = 1, set()
    while read < count:
        for i in range(len(sent), min(permitted, count)):
            sent.append(producer.send(topic, str(i).encode(), partition=i % FOLLOWED_PARTITIONS))
        first = len(heard) < FOLLOWED_PARTITIONS
        found = consumer.poll(1000 * (SHORT_WAIT_S if first else LONG_WAIT_S / 2))
        if not found:
            require(first and len(sent) < count, "nothing arrives")
            permitted = len(sent) + 1
            continue
        for partition, messages in found.items():
            heard.add(partition)
            read += len(messages)
            for message in messages:
                print(message.partition, message.offset, message.value.decode(), sep="\t")
        permitted = read + (1 if read < count // 2 else FOLLOW_WINDOW)
    for each in sent:
        each.get(TIMEOUT_S)
    producer.close()
    consumer.close()


def idempotent(bootstrap, topic, count):
    producer = KafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, linger_ms=1, reconnect_backoff_max_ms=500,
                             delivery_timeout_ms=240000)
    acknowledged = 0

    def done(_):
        nonlocal acknowledged
        acknowledged += 1
        if acknowledged % 1000 == 0:
            print(f"acknowledged {acknowledged}", flush=True)

    sent = []
    for i in range(int(count)):
        sent.append(producer.send(topic, str(i).encode(), partition=0).add_callback(done))
        if i % 100 == 99:
            time.sleep(0.01)  # slow enough for the broker to be killed several times meanwhile
    for each in sent:
        each.get(TIMEOUT_S)
    require(acknowledged == int(count), f"{acknowledged} are acknowledged")
    producer.close()


class Listener(ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned):
        tell("assigned", assigned)

    def on_partitions_revoked(self, revoked):
        tell("revoked", revoked)


def tell(what, partitions):
    print(what, *sorted(f"{each.topic}/{each.partition}" for each in partitions), flush=True)


def group(bootstrap, topic, name, strategy):
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    # Nothing is committed before it is printed: the program may be killed in between.
    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=name, auto_offset_reset="earliest", enable_auto_commit=False,
                             partition_assignment_strategy=(ASSIGNORS[strategy],), session_timeout_ms=6000, heartbeat_interval_ms=500,
                             reconnect_backoff_max_ms=500)
    consumer.subscribe([topic], listener=Listener())
    read, committed_at = {}, time.monotonic()
    while not stop.is_set():
        for partition, messages in consumer.poll(SHORT_WAIT_S * 1000).items():
            for message in messages:
                print("record", f"{topic}/{message.partition}", message.offset, message.value.decode(), flush=True)
            read[partition] = messages[-1].offset + 1
        if time.monotonic() - committed_at > 0.2:
            committed_at = time.monotonic()
            commit(consumer, read)
    commit(consumer, read)
    consumer.close()


def commit(consumer, read):
    """What was read of the partitions that are still this member's."""
    mine = {partition: OffsetAndMetadata(read.pop(partition), "", -1) for partition in list(read) if partition in consumer.assignment()}
    if mine:
        with contextlib.suppress(KafkaError):  # the group shares its partitions anew, or the broker is down
            consumer.commit(mine, timeout_ms=5000)


if __name__ == "__main__":
    {"admin": admin, "delete": delete, "produce": produce, "consume": consume, "follow": follow, "idempotent": idempotent,
     "group": group}[sys.argv[1]](*sys.argv[2:])
