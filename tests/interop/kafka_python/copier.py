"""Copies numbers exactly once with kafka-python; see Copier.java for the command line, and for what is printed and written."""

import os
import sys
import threading
import uuid

from kafka import KafkaConsumer, KafkaProducer
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

RECORDS = 750


class Copier:
    def __init__(self, bootstrap, group, transactional_id, to):
        self.to, self.count = to, 0
        self.name = f"{transactional_id}/{uuid.uuid4()}"
        self.consumer = KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, isolation_level="read_committed",
                                      enable_auto_commit=False, auto_offset_reset="earliest", session_timeout_ms=6000,
                                      heartbeat_interval_ms=500, max_poll_records=RECORDS, reconnect_backoff_max_ms=200)
        self.producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id, transaction_timeout_ms=8000,
                                      max_block_ms=120000, reconnect_backoff_max_ms=200)

    def run(self, source, stop):
        self.producer.init_transactions()  # ends what was open under this id
        self.partitions = len(self.producer.partitions_for(self.to))
        self.consumer.subscribe([source])
        while not stop.is_set():
            if found := self.consumer.poll(100):
                self.copy(found)
        self.consumer.close()
        self.producer.close()

    def copy(self, found):
        records = [record for part in found.values() for record in part]
        behind = f" {self.name}/{self.count} {len(records)}"
        self.count += 1
        self.producer.begin_transaction()
        tell("begun")
        for record in records:
            number = int(record.value)
            self.producer.send(self.to, f"{number}{behind}".encode(), partition=number // self.partitions % self.partitions)
        tell("sent")
        places = {partition: OffsetAndMetadata(part[-1].offset + 1, "", -1) for partition, part in found.items()}
        self.producer.send_offsets_to_transaction(places, self.consumer.group_metadata())
        tell("offsets")
        self.producer.commit_transaction()
        tell("committed")


def tell(what):
    print(what, flush=True)


def main(bootstrap, _, group, transactional_id, source, to):
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    try:
        Copier(bootstrap, group, transactional_id, to).run(source, stop)
    except KafkaError as failure:  # nothing can be known about this transaction; the next one with the id ends it
        tell(f"error {failure!r}".splitlines()[0])
        os._exit(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
