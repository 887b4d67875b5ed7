"""What every client has to do with a broker, and what must be there afterwards. The clients' programs share one command line; see
README.md."""

import os
import re
import subprocess
import sys
import threading
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))

import reader  # noqa: E402
from naru_process import Broker  # noqa: E402

TOPIC = "interop"
ADMIN_STEPS = ["create", "list", "describe", "describe-configs", "alter-configs", "create-partitions"]
RECORDS_PER_CODEC = 1000
FIRST_TIMESTAMP = 1700000000000
NUMBERED_RECORDS = 50_000
RESTARTS = 4
FOLLOWED_PARTITIONS = 4
FOLLOWED_RECORDS = 600
# All begin with key 0, so the last of each key are parts of the long ones; of the short ones nothing is left.
COMPACTED = [("none", 20), ("none", 1000), ("gzip", 850), ("gzip", 20), ("snappy", 600), ("lz4", 430), ("zstd", 30), ("zstd", 170)]
PATIENCE_S = 300
LONG_PATIENCE_S = 600


def require(condition, what):
    if not condition:
        raise RuntimeError(what)


def run(client):
    """One line about what passed; raises if anything does not."""
    program = client.program()
    broker = Broker("--set", "log.cleaner.backoff.ms=100", "--set", "log.retention.check.interval.ms=100", admin="127.0.0.1:0")
    try:
        admin(program, broker)
        produce_and_consume(client, program, broker)
        delete(program, broker)
        compacted = read_compacted(client, program, broker)
        followed = follow(client, program, broker) if client.consumes else None
        kept = numbered_records(client, program, broker)
        require(broker.terminate() == 0, "the broker did not stop cleanly")
    except (RuntimeError, subprocess.SubprocessError) as problem:
        raise RuntimeError(f"{problem}\nThe broker's log ends with:\n{broker.log[-3000:]}") from problem
    finally:
        broker.close()
    return "; ".join(filter(None, ["admin", " ".join(client.codecs), followed, compacted, kept]))


def call(program, *arguments):
    """Runs a command of a client's program; the lines that it prints."""
    try:
        done = subprocess.run([*program, *arguments], capture_output=True, text=True, timeout=PATIENCE_S)
    except subprocess.TimeoutExpired as expired:
        told = [(text or b"").decode()[-2000:] for text in (expired.stdout, expired.stderr)]
        raise RuntimeError(f"{arguments[0]} did not end within {PATIENCE_S} s:\n" + "\n".join(told)) from expired
    require(done.returncode == 0, f"{' '.join(arguments)} failed:\n{done.stdout[-1000:]}\n{done.stderr[-4000:]}")
    return done.stdout.splitlines()


def admin(program, broker):
    steps = call(program, "admin", broker.address, TOPIC)
    require(steps == ADMIN_STEPS, f"admin did {steps}")
    require(reader.partition_count(broker, TOPIC) == 3, "the third partition is not there")
    config = reader.topic_config(broker, TOPIC)
    require((config["retention.ms"], config["max.message.bytes"]) == ("-1", "2000000"), f"the configuration is {config}")


def delete(program, broker):
    call(program, "delete", broker.address, TOPIC)
    require(reader.partition_count(broker, TOPIC) is None, "the topic is still there")


def produce_and_consume(client, program, broker):
    expected = []
    for codec in client.codecs:
        call(program, "produce", broker.address, TOPIC, codec, str(RECORDS_PER_CODEC))
        expected += [f"{len(expected) + i}\tkey {i}\t{codec} {i}\tnumber={i}\t{FIRST_TIMESTAMP + i}"
                     for i in range(RECORDS_PER_CODEC)]
    compare("the independent reader", reader.lines(broker, TOPIC), expected)
    if client.consumes:
        compare("consume", call(program, "consume", broker.address, TOPIC, str(len(expected))), expected)


def read_compacted(client, program, broker):
    """Compaction leaves parts of batches, and batches without records in the place of whole ones."""
    topic = f"{TOPIC}-compacted"
    reader.create_topic(broker, topic, cleanup_policy="compact", segment_bytes=50_000, segment_ms=200,
                        min_cleanable_dirty_ratio=0.01)
    last, end = {}, 0
    for codec, count in COMPACTED:
        call(program, "produce", broker.address, topic, codec, str(count))
        for i in range(count):
            last[i] = f"{end + i}\tkey {i}\t{codec} {i}\tnumber={i}\t{FIRST_TIMESTAMP + i}"
        end += count
    expected = sorted(last.values(), key=lambda line: int(line.split("\t")[0]))
    deadline = time.monotonic() + PATIENCE_S
    while len(lines := reader.lines(broker, topic)) > len(expected):
        require(time.monotonic() < deadline, f"the log is not compacted: {len(lines)} records")
        time.sleep(0.1)
    compare("the independent reader", lines, expected)
    if client.consumes:
        compare("consume", call(program, "consume", broker.address, topic, str(len(expected))), expected)
    return "consume, also compacted" if client.consumes else "compacted"


def follow(client, program, broker):
    """The client waits for news in all partitions while it writes to one after the other."""
    topic = f"{TOPIC}-followed"
    reader.create_topic(broker, topic, FOLLOWED_PARTITIONS)
    before = looks_in_sessions(broker)
    lines = call(program, "follow", broker.address, topic, str(FOLLOWED_RECORDS))
    for partition in range(FOLLOWED_PARTITIONS):
        expected = [f"{partition}\t{offset}\t{partition + offset * FOLLOWED_PARTITIONS}"
                    for offset in range(FOLLOWED_RECORDS // FOLLOWED_PARTITIONS)]
        compare(f"follow, partition {partition},", [line for line in lines if line.startswith(f"{partition}\t")], expected)
    require(client.sessions == (looks_in_sessions(broker) > before), f"in sessions: {not client.sessions}")
    return "follow in a session" if client.sessions else "follow"


def looks_in_sessions(broker):
    address = re.search(r"curl (http://\S+/metrics)", broker.log).group(1)
    with urllib.request.urlopen(address, timeout=PATIENCE_S) as answer:
        metrics = answer.read().decode()
    return float(re.search(r"^naru_fetch_session_looks_total (\S+)$", metrics, re.MULTILINE).group(1))


def compare(who, lines, expected):
    for line, wanted in zip(lines, expected):
        require(line == wanted, f"{who} read {line!r} where {wanted!r} belongs")
    require(len(lines) == len(expected), f"{who} read {len(lines)} records of {len(expected)}")


def numbered_records(client, program, broker):
    """Kills and restarts the broker while the program produces; afterwards the numbers are complete and in order."""
    topic = f"{TOPIC}-numbered"
    reader.create_topic(broker, topic)
    restarts = produce_across_restarts(program, broker, topic)
    numbers = reader.numbers(broker, topic)
    if client.idempotent:
        check_exact(numbers)
        return f"exactly once across {restarts} × kill -9"
    doubles = check_complete(numbers)
    return f"no loss across {restarts} × kill -9 ({doubles} doubles)"


def produce_across_restarts(program, broker, topic):
    process = subprocess.Popen([*program, "idempotent", broker.address, topic, str(NUMBERED_RECORDS)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    complaints = []
    listener = threading.Thread(target=lambda: complaints.extend(process.stderr), daemon=True)
    listener.start()
    watchdog = threading.Timer(LONG_PATIENCE_S, process.kill)
    watchdog.start()
    restarts, acknowledged = 0, 0
    for line in process.stdout:
        if not (told := re.fullmatch(r"acknowledged (\d+)\n", line)):
            continue
        acknowledged = int(told.group(1))
        if restarts < RESTARTS and acknowledged > NUMBERED_RECORDS * (restarts + 1) // (RESTARTS + 1):
            broker.kill()
            require(process.poll() is None, "the program ended before the broker was killed")
            broker.start()
            restarts += 1
    code = process.wait()
    watchdog.cancel()
    listener.join()
    process.stdout.close()
    process.stderr.close()
    require(code == 0, f"idempotent ended with {code} after {acknowledged} acknowledgements and {restarts} restarts:\n"
            + "".join(complaints)[-4000:])
    require(restarts == RESTARTS, f"only {restarts} restarts happened before the end")
    return restarts


def check_exact(numbers):
    for i, number in enumerate(numbers):
        require(number == i, f"{number} stands where {i} belongs")
    require(len(numbers) == NUMBERED_RECORDS, f"{len(numbers)} of {NUMBERED_RECORDS} records are there")


def check_complete(numbers):
    """All are there, and none comes before its predecessor did for the first time; how many are there twice."""
    following = 0
    for number in numbers:
        require(number <= following, f"{number} stands where {following} belongs")
        following = max(following, number + 1)
    require(following == NUMBERED_RECORDS, f"the records end at {following}")
    return len(numbers) - NUMBERED_RECORDS
