"""A member of a group in a process of its own, so that it can be killed:

    group_member.py confluent|kafka-python BOOTSTRAP GROUP TOPIC[,TOPIC...] JSON

JSON has the library's own configuration. The program prints what happens to it, a line at a time, and leaves the group in order when
its standard input ends:

    assigned TOPIC/PARTITION...
    revoked TOPIC/PARTITION...
    lost TOPIC/PARTITION...
    record TOPIC/PARTITION OFFSET VALUE
    committed TOPIC/PARTITION OFFSET...   only if JSON has "commit.every", a number of records
    reset TIME TOPIC/PARTITION TEXT       its position is out of range, and JSON has "auto.offset.reset": "error"; it leaves the group
    error TEXT                            a fatal one, after which it ends
"""

import json
import sys
import threading
import time

POLL_S = 0.1


def tell(what, partitions):
    print(what, *sorted(f"{each.topic}/{each.partition}" for each in partitions), flush=True)


def confluent(bootstrap, group, topics, config, stop):
    from confluent_kafka import Consumer, KafkaError, KafkaException

    def failed(error):
        if error.fatal() or error.code() == KafkaError._FATAL:
            print("error", error.str(), flush=True)
            stop.set()

    every = config.pop("commit.every", 0)
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest", "error_cb": failed,
                         "reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 200, **config})
    consumer.subscribe(topics, on_assign=lambda _, partitions: tell("assigned", partitions),
                       on_revoke=lambda _, partitions: tell("revoked", partitions),
                       on_lost=lambda _, partitions: tell("lost", partitions))
    read = 0
    while not stop.is_set():
        message = consumer.poll(POLL_S)
        if message is None:
            continue
        if message.error():
            failed(message.error())
            if message.error().code() == KafkaError._AUTO_OFFSET_RESET:
                print("reset", f"{time.monotonic():.3f}", f"{message.topic()}/{message.partition()}", message.error().str(), flush=True)
                stop.set()
            continue
        print("record", f"{message.topic()}/{message.partition()}", message.offset(), message.value().decode(), flush=True)
        read += 1
        if every and read % every == 0:
            try:
                done = consumer.commit(asynchronous=False)
            except KafkaException as refused:
                # What is committed in vain is read again, by this member or another one.
                failed(refused.args[0])
                continue
            there = [each for each in done if not each.error and each.offset >= 0]  # nothing is read yet of the others
            print("committed", *(f"{each.topic}/{each.partition} {each.offset}" for each in there), flush=True)
    consumer.close()


def kafka_python(bootstrap, group, topics, config, stop):
    from kafka import ConsumerRebalanceListener, KafkaConsumer

    class Listener(ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned):
            tell("assigned", assigned)

        def on_partitions_revoked(self, revoked):
            tell("revoked", revoked)

    consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest", reconnect_backoff_ms=50,
                             reconnect_backoff_max_ms=200, **config)
    consumer.subscribe(topics, listener=Listener())
    while not stop.is_set():
        for partition, messages in consumer.poll(POLL_S * 1000).items():
            for message in messages:
                print("record", f"{partition.topic}/{partition.partition}", message.offset, message.value.decode(), flush=True)
    consumer.close()


def main():
    library, bootstrap, group, topics, config = sys.argv[1:]
    stop = threading.Event()

    def wait_for_the_end():
        sys.stdin.read()
        stop.set()

    threading.Thread(target=wait_for_the_end, daemon=True).start()
    {"confluent": confluent, "kafka-python": kafka_python}[library](bootstrap, group, topics.split(","), json.loads(config), stop)


if __name__ == "__main__":
    main()
