"""The independent reader: Debian's python3-confluent-kafka looks at what the clients have done."""

import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

PATIENCE_S = 60


def config(broker):
    return {"bootstrap.servers": broker.address, "log_level": 4}  # warnings


def create_topic(broker, name, partitions=1, **settings):
    """Settings as in Kafka, with underscores for dots."""
    admin = AdminClient(config(broker))
    new = NewTopic(name, partitions, 1, config={key.replace("_", "."): str(value) for key, value in settings.items()})
    admin.create_topics([new])[name].result(PATIENCE_S)


def partition_count(broker, name):
    """None if there is no such topic."""
    admin = AdminClient(config(broker))
    topic = admin.list_topics(timeout=PATIENCE_S).topics.get(name)
    return len(topic.partitions) if topic else None


def topic_config(broker, name):
    resource = ConfigResource("topic", name)
    admin = AdminClient(config(broker))
    described = admin.describe_configs([resource])[resource].result(PATIENCE_S)
    return {entry.name: entry.value for entry in described.values()}


def messages(broker, topic):
    """What partition 0 holds, from the beginning to the end."""
    consumer = Consumer({**config(broker), "group.id": "none", "enable.auto.commit": False, "enable.partition.eof": True})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    deadline = time.monotonic() + 5 * PATIENCE_S
    try:
        while time.monotonic() < deadline:
            for message in consumer.consume(10000, timeout=0.2):
                if message.error() is None:
                    yield message
                elif message.error().code() == KafkaError._PARTITION_EOF:
                    return
                else:
                    raise KafkaException(message.error())
        raise RuntimeError(f"the independent reader does not come to the end of {topic} within {5 * PATIENCE_S} s")
    finally:
        consumer.close()


def lines(broker, topic):
    """The records as the clients' consume command prints them."""
    return [f"{m.offset()}\t{m.key().decode()}\t{m.value().decode()}\t{name}={header.decode()}\t{m.timestamp()[1]}"
            for m in messages(broker, topic) for name, header in m.headers()]


def numbers(broker, topic):
    return [int(m.value()) for m in messages(broker, topic)]
