"""The program of the client confluent-kafka."""

import contextlib
import sys
import threading
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic,
                                   ResourceType)

FIRST_TIMESTAMP = 1700000000000
PATIENCE_S = 60
LONG_WAIT_S = 40  # so long that a record which does not end the wait of a fetch is missed
SHORT_WAIT_S = 0.1
FOLLOWED_PARTITIONS = 4
FOLLOW_WINDOW = 100


def require(condition, what):
    if not condition:
        raise RuntimeError(what)


def admin(bootstrap, topic):
    client = AdminClient({"bootstrap.servers": bootstrap})
    # Records with such old timestamps are kept only without retention.
    new = NewTopic(topic, num_partitions=2, replication_factor=1, config={"retention.ms": "-1"})
    client.create_topics([new])[topic].result(PATIENCE_S)
    print("create")
    require(topic in client.list_topics(timeout=PATIENCE_S).topics, "not listed")
    print("list")
    described = client.describe_topics(TopicCollection([topic]))[topic].result(PATIENCE_S)
    require(len(described.partitions) == 2, f"{len(described.partitions)} partitions")
    print("describe")
    require(config_of(client, topic)["retention.ms"].value == "-1", "retention.ms")
    print("describe-configs")
    change = ConfigEntry("max.message.bytes", "2000000", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ResourceType.TOPIC, topic, incremental_configs=[change])
    client.incremental_alter_configs([resource])[resource].result(PATIENCE_S)
    require(config_of(client, topic)["max.message.bytes"].value == "2000000", "max.message.bytes")
    print("alter-configs")
    client.create_partitions([NewPartitions(topic, 3)])[topic].result(PATIENCE_S)
    print("create-partitions")


def config_of(client, topic):
    resource = ConfigResource(ResourceType.TOPIC, topic)
    return client.describe_configs([resource])[resource].result(PATIENCE_S)


def delete(bootstrap, topic):
    client = AdminClient({"bootstrap.servers": bootstrap})  # in use until the result is there
    client.delete_topics([topic])[topic].result(PATIENCE_S)


class Acknowledged:
    """Counts acknowledgements; a failure ends the program."""

    def __init__(self):
        self.count = 0

    def __call__(self, error, message):
        if error:
            raise KafkaException(error)
        self.count += 1
        if self.count % 1000 == 0:
            print(f"acknowledged {self.count}", flush=True)


def produce(bootstrap, topic, codec, count):
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 20, "acks": "all"})
    acknowledged = Acknowledged()
    for i in range(int(count)):
        producer.produce(topic, f"{codec} {i}", f"key {i}", partition=0, timestamp=FIRST_TIMESTAMP + i,
                         headers=[("number", str(i))], on_delivery=acknowledged)
    producer.flush(PATIENCE_S)
    require(acknowledged.count == int(count), f"{acknowledged.count} are acknowledged")


def consume(bootstrap, topic, count):
    # A group's name has to be there, but is not used for partitions that are assigned by hand.
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    for _ in range(int(count)):
        message = consumer.poll(PATIENCE_S)
        require(message is not None, "nothing arrives")
        if message.error():
            raise KafkaException(message.error())
        name, header = message.headers()[0]
        print(message.offset(), message.key().decode(), message.value().decode(), f"{name}={header.decode()}",
              message.timestamp()[1], sep="\t")
    consumer.close()


def follow(bootstrap, topic, count):
    count = int(count)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "none", "enable.auto.commit": False,
                         "fetch.wait.max.ms": LONG_WAIT_S * 1000, "socket.timeout.ms": LONG_WAIT_S * 2000})
    consumer.assign([TopicPartition(topic, i, OFFSET_BEGINNING) for i in range(FOLLOWED_PARTITIONS)])
    producer = Producer({"bootstrap.servers": bootstrap, "linger.ms": 0})
    acknowledged = Acknowledged()
    sent, read, heard = 0, 0, set()
    permitted = 1
    while read < count:
        for i in range(sent, min(permitted, count)):
            producer.produce(topic, str(i), partition=i % FOLLOWED_PARTITIONS, on_delivery=acknowledged)
            sent += 1
        first = len(heard) < FOLLOWED_PARTITIONS
        message = consumer.poll(SHORT_WAIT_S if first else LONG_WAIT_S / 2)
        if message is None:
            require(first and sent < count, "nothing arrives")
            permitted = sent + 1
            continue
        if message.error():
            raise KafkaException(message.error())
        print(message.partition(), message.offset(), message.value().decode(), sep="\t")
        heard.add(message.partition())
        read += 1
        permitted = read + (1 if read < count // 2 else FOLLOW_WINDOW)
    producer.flush(PATIENCE_S)
    require(acknowledged.count == count, f"{acknowledged.count} are acknowledged")
    consumer.close()


def idempotent(bootstrap, topic, count):
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 1,
                         "message.timeout.ms": 120000, "reconnect.backoff.max.ms": 500})
    acknowledged = Acknowledged()
    for i in range(int(count)):
        producer.produce(topic, str(i), partition=0, on_delivery=acknowledged)
        if i % 100 == 99:
            producer.poll(0)
            time.sleep(0.01)  # slow enough for the broker to be killed several times meanwhile
    producer.flush(120)
    require(acknowledged.count == int(count), f"{acknowledged.count} are acknowledged")


def group(bootstrap, topic, name, strategy):
    config = {"bootstrap.servers": bootstrap, "group.id": name, "auto.offset.reset": "earliest", "auto.commit.interval.ms": 200,
              "reconnect.backoff.max.ms": 500,
              "enable.auto.offset.store": False}  # nothing is committed before it is printed: the program may be killed in between
    if strategy == "consumer":
        config["group.protocol"] = "consumer"
    else:
        config |= {"group.protocol": "classic", "partition.assignment.strategy": strategy, "session.timeout.ms": 6000,
                   "heartbeat.interval.ms": 500}
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()

    def told(what):
        return lambda _, partitions: print(what, *(f"{each.topic}/{each.partition}" for each in partitions), flush=True)

    consumer = Consumer(config)
    consumer.subscribe([topic], on_assign=told("assigned"), on_revoke=told("revoked"), on_lost=told("lost"))
    while not stop.is_set():
        message = consumer.poll(SHORT_WAIT_S)
        if message is not None and not message.error():
            print("record", f"{topic}/{message.partition()}", message.offset(), message.value().decode(), flush=True)
            with contextlib.suppress(KafkaException):  # the partition was taken away meanwhile
                consumer.store_offsets(message)
    consumer.close()


if __name__ == "__main__":
    {"admin": admin, "delete": delete, "produce": produce, "consume": consume, "follow": follow,
     "idempotent": idempotent, "group": group}[sys.argv[1]](*sys.argv[2:])
