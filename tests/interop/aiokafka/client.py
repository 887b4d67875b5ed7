"""The program of the client aiokafka."""

import asyncio
import sys
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor

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


def require_done(results):
    """What the admin client answers, it answers with errors inside."""
    require(all(result[1] == 0 for result in results), f"refused: {results}")


async def admin(bootstrap, topic):
    async with AdminClient(bootstrap) as client:
        # Records with such old timestamps are kept only without retention.
        require_done((await client.create_topics([NewTopic(topic, 2, 1, topic_configs={"retention.ms": "-1"})])).topic_errors)
        print("create")
        require(topic in await client.list_topics(), "not listed")
        print("list")
        described = await client.describe_topics([topic])
        require(len(described[0]["partitions"]) == 2, f"{described}")
        print("describe")
        require((await config_of(client, topic))["retention.ms"] == "-1", "retention.ms")
        print("describe-configs")
        # It knows only the older request, which replaces all that was set.
        change = ConfigResource(ConfigResourceType.TOPIC, topic, {"max.message.bytes": "2000000", "retention.ms": "-1"})
        for answer in await client.alter_configs([change]):
            require(all(resource[0] == 0 for resource in answer.resources), f"refused: {answer}")
        require((await config_of(client, topic))["max.message.bytes"] == "2000000", "max.message.bytes")
        print("alter-configs")
        await client.create_partitions({topic: NewPartitions(3)})
        print("create-partitions")


class AdminClient(AIOKafkaAdminClient):
    """One that can be used in `async with`."""

    def __init__(self, bootstrap):
        super().__init__(bootstrap_servers=bootstrap)

    async def __aenter__(self):
        await self.start()
        return self

    async def __aexit__(self, *_):
        await self.close()


async def config_of(client, topic):
    (answer,) = await client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    return {entry[0]: entry[1] for entry in answer.resources[0][4]}


async def delete(bootstrap, topic):
    async with AdminClient(bootstrap) as client:
        require_done((await client.delete_topics([topic])).topic_error_codes)


async def produce(bootstrap, topic, codec, count):
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, compression_type=None if codec == "none" else codec, linger_ms=20,
                                acks="all") as producer:
        sent = [await producer.send(topic, f"{codec} {i}".encode(), f"key {i}".encode(), partition=0, timestamp_ms=FIRST_TIMESTAMP + i,
                                    headers=[("number", str(i).encode())]) for i in range(int(count))]
        await asyncio.wait_for(asyncio.gather(*sent), TIMEOUT_S)


async def consume(bootstrap, topic, count):
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        for _ in range(int(count)):
            message = await asyncio.wait_for(consumer.getone(), TIMEOUT_S)
            name, header = message.headers[0]
            print(message.offset, message.key.decode(), message.value.decode(), f"{name}={header.decode()}", message.timestamp, sep="\t")


async def follow(bootstrap, topic, count):
    count, read, sent = int(count), 0, []
    async with AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest", fetch_max_wait_ms=LONG_WAIT_S * 1000,
                                request_timeout_ms=LONG_WAIT_S * 2000) as consumer, \
            AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=0) as producer:
        consumer.assign([TopicPartition(topic, i) for i in range(FOLLOWED_PARTITIONS)])
        permitted, heard = 1, set()
        while read < count:
            for i in range(len(sent), min(permitted, count)):
                sent.append(await producer.send(topic, str(i).encode(), partition=i % FOLLOWED_PARTITIONS))
            first = len(heard) < FOLLOWED_PARTITIONS
            wait_ms = int(1000 * (SHORT_WAIT_S if first else LONG_WAIT_S / 2))
            found = await consumer.getmany(timeout_ms=wait_ms)
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
        await asyncio.gather(*sent)


async def idempotent(bootstrap, topic, count):
    # A batch fails when it is older than a request may be; the broker is killed and restarted meanwhile.
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, enable_idempotence=True, linger_ms=1,
                                request_timeout_ms=120000) as producer:
        acknowledged, sent = 0, []

        def done(future):
            nonlocal acknowledged
            acknowledged += not future.exception()
            if acknowledged % 1000 == 0:
                print(f"acknowledged {acknowledged}", flush=True)

        for i in range(int(count)):
            sent.append(await producer.send(topic, str(i).encode(), partition=0))
            sent[-1].add_done_callback(done)
            if i % 100 == 99:
                await asyncio.sleep(0.01)  # slow enough for the broker to be killed several times meanwhile
        await asyncio.gather(*sent)
        require(acknowledged == int(count), f"{acknowledged} are acknowledged")


class Listener(ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned):
        tell("assigned", assigned)

    def on_partitions_revoked(self, revoked):
        tell("revoked", revoked)


def tell(what, partitions):
    print(what, *sorted(f"{each.topic}/{each.partition}" for each in partitions), flush=True)


async def input_ends():
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    await reader.read()


async def group(bootstrap, topic, name, strategy):
    # Nothing is committed before it is printed: the program may be killed in between.
    consumer = AIOKafkaConsumer(bootstrap_servers=bootstrap, group_id=name, auto_offset_reset="earliest", enable_auto_commit=False,
                                partition_assignment_strategy=(ASSIGNORS[strategy],), session_timeout_ms=6000, heartbeat_interval_ms=500)
    await consumer.start()
    consumer.subscribe([topic], listener=Listener())
    end, committed_at = asyncio.ensure_future(input_ends()), time.monotonic()
    read = {}
    while not end.done():
        for partition, messages in (await consumer.getmany(timeout_ms=int(SHORT_WAIT_S * 1000))).items():
            for message in messages:
                print("record", f"{topic}/{message.partition}", message.offset, message.value.decode(), flush=True)
            read[partition] = messages[-1].offset + 1
        if time.monotonic() - committed_at > 0.2:
            committed_at = time.monotonic()
            await commit(consumer, read)
    await commit(consumer, read)
    await consumer.stop()


async def commit(consumer, read):
    """What was read of the partitions that are still this member's."""
    mine = {partition: read.pop(partition) for partition in list(read) if partition in consumer.assignment()}
    try:
        if mine:
            await consumer.commit(mine)
    except Exception as refused:  # the group shares its partitions anew, or the broker is down: what follows is committed later
        print(f"not committed: {refused!r}", file=sys.stderr)


if __name__ == "__main__":
    asyncio.run({"admin": admin, "delete": delete, "produce": produce, "consume": consume, "follow": follow, "idempotent": idempotent,
                 "group": group}[sys.argv[1]](*sys.argv[2:]))
