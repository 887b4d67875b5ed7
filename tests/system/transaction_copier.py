"""Copies a topic exactly once, in a process of its own, so that it can be killed:

    transaction_copier.py BOOTSTRAP GROUP TRANSACTIONAL_ID FROM TO JSON

Reads what is committed in FROM as a member of GROUP, and writes it to the partition of the same number of TO, each record once, in
transactions of JSON's "records" that carry the offsets. Prints a line for each transaction:

    committed RECORDS
    aborted REASON
    error TEXT             one that it cannot go on with; it ends

It ends in order when its standard input ends. JSON may have further configuration of the producer ("producer") and consumer ("consumer").
"""

import json
import sys
import threading

from confluent_kafka import Consumer, KafkaException, Producer

POLL_S = 0.1
BACKOFF = {"reconnect.backoff.ms": 50, "reconnect.backoff.max.ms": 200}


class Copier:
    def __init__(self, bootstrap, group, transactional_id, source, target, config):
        self.target = target
        self.records = config["records"]
        common = {"bootstrap.servers": bootstrap, **BACKOFF}
        self.producer = Producer({**common, "transactional.id": transactional_id, "transaction.timeout.ms": 10000,
                                  "linger.ms": 5, **config.get("producer", {})})
        self.consumer = Consumer({**common, "group.id": group, "isolation.level": "read_committed", "enable.auto.commit": False,
                                  "auto.offset.reset": "earliest", "session.timeout.ms": 6000, **config.get("consumer", {})})
        self.revoked = False
        self.consumer.subscribe([source], on_revoke=self.give_up_partitions)

    def give_up_partitions(self, *_):
        self.revoked = True

    def positions(self):
        return [place for place in self.consumer.position(self.consumer.assignment()) if place.offset >= 0]

    def back_to_committed(self):
        """What was read and not copied is read again."""
        for place in self.consumer.committed(self.consumer.assignment(), timeout=30):
            if place.offset < 0:
                place.offset = 0
            self.consumer.seek(place)

    def read(self, stop):
        batch = []
        while len(batch) < self.records and not stop.is_set():
            message = self.consumer.poll(POLL_S)
            if self.revoked:  # others may read what this one has not copied yet
                self.revoked = False
                batch.clear()
                self.back_to_committed()
                continue
            if message is None:
                if batch:
                    break
                continue
            if message.error():
                continue
            batch.append(message)
        return batch

    def copy(self, batch):
        self.producer.begin_transaction()
        for message in batch:
            self.producer.produce(self.target, message.value(), key=message.key(), partition=message.partition())
            self.producer.poll(0)
        self.producer.send_offsets_to_transaction(self.positions(), self.consumer.consumer_group_metadata())
        self.producer.commit_transaction()

    def run(self, stop):
        self.producer.init_transactions(60)
        while not stop.is_set():
            batch = self.read(stop)
            if not batch:
                continue
            try:
                self.copy(batch)
                print("committed", len(batch), flush=True)
            except KafkaException as failure:
                error = failure.args[0]
                if not error.txn_requires_abort():
                    raise
                self.producer.abort_transaction()
                self.back_to_committed()
                print("aborted", error.str(), flush=True)
        self.consumer.close()


def main():
    *names, config = sys.argv[1:]
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    try:
        Copier(*names, json.loads(config)).run(stop)
    except KafkaException as failure:
        print("error", failure.args[0].str(), flush=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
