"""Copies numbers exactly once with aiokafka; see Copier.java for the command line, and for what is printed and written."""

import asyncio
import os
import sys
import uuid

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import KafkaError, ProducerFenced

RECORDS = 750


class Copier:
    def __init__(self, bootstrap, group, transactional_id, to):
        self.group, self.to, self.count = group, to, 0
        self.name = f"{transactional_id}/{uuid.uuid4()}"
        self.consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=group, isolation_level="read_committed",
                                         enable_auto_commit=False, auto_offset_reset="earliest", session_timeout_ms=6000,
                                         heartbeat_interval_ms=500)
        self.producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id, transaction_timeout_ms=8000)

    async def run(self, source, stop):
        await self.producer.start()  # ends what was open under this id
        self.partitions = len(await self.producer.partitions_for(self.to))
        await self.consumer.start()
        self.consumer.subscribe([source])
        while not stop.done():
            found = await self.consumer.getmany(timeout_ms=100, max_records=RECORDS)
            if found:
                await self.copy(found)
        await self.consumer.stop()
        await self.producer.stop()

    async def copy(self, found):
        records = [record for part in found.values() for record in part]
        behind = f" {self.name}/{self.count} {len(records)}"
        self.count += 1
        await self.producer.begin_transaction()
        tell("begun")
        for record in records:
            number = int(record.value)
            await self.producer.send(self.to, f"{number}{behind}".encode(), partition=number // self.partitions % self.partitions)
        tell("sent")
        await self.producer.send_offsets_to_transaction({partition: part[-1].offset + 1 for partition, part in found.items()}, self.group)
        tell("offsets")
        await self.producer.commit_transaction()
        tell("committed")


def tell(what):
    print(what, flush=True)


async def input_ends():
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


async def main(bootstrap, _, group, transactional_id, source, to):
    try:
        await Copier(bootstrap, group, transactional_id, to).run(source, asyncio.ensure_future(input_ends()))
    except (KafkaError, ProducerFenced) as failure:  # nothing can be known about this transaction; the next one with the id ends it
        tell(f"error {failure!r}".splitlines()[0])
        os._exit(1)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
