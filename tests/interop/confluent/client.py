"""The program of the client confluent-kafka."""

import sys
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic,
                                   ResourceType)

FIRST_TIMESTAMP = 1700000000000
PATIENCE_S = 60


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


if __name__ == "__main__":
    {"admin": admin, "delete": delete, "produce": produce, "consume": consume, "idempotent": idempotent}[sys.argv[1]](*sys.argv[2:])
