"""Clients that ask too much: many of them, silent ones, deaf ones, ones that send rubbish without end. The broker stays
small, and those who behave do not notice."""

import http.client
import os
import random
import re
import resource
import socket
import struct
import subprocess
import threading
import time
import unittest

from naru_process import NARU, PATIENCE_S, Broker, frame, read_frame, wait_until
from raw_client import API_VERSIONS, METADATA, RawClient, batch, fetch_request, produce_request

MALFORMED_FRAMES = 100_000


def raise_descriptor_limit():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


class HealthyClient(threading.Thread):
    """Produces and reads back, again and again; remembers the slowest round and the first problem."""

    def __init__(self, broker, topic):
        super().__init__(daemon=True)
        self.broker, self.topic = broker, topic
        self.rounds, self.slowest_s, self.problem, self.stopping = 0, 0.0, None, False

    def run(self):
        try:
            with RawClient(self.broker) as client:
                while not self.stopping:
                    begun = time.monotonic()
                    error, offset = client.produce(self.topic, batch([b"round %d" % self.rounds]))
                    read_error, _, data = client.fetch(self.topic, offset)
                    if error or read_error or b"round %d" % self.rounds not in data:
                        raise AssertionError(f"round {self.rounds}: errors {error} and {read_error}")
                    self.rounds += 1
                    self.slowest_s = max(self.slowest_s, time.monotonic() - begun)
        except Exception as problem:
            self.problem = problem

    def stop(self):
        self.stopping = True
        self.join(PATIENCE_S)


def malformed_frames(chance, count):
    """Frames of which each is wrong in its own way; most are answered, some close the connection."""
    good = [produce_request("good", batch([b"v"])), fetch_request("good", 0), frame(METADATA, 1, struct.pack(">i", 0)),
            frame(API_VERSIONS, 0, b"")]
    for _ in range(count):
        kind = chance.randrange(10)
        if kind < 7:
            broken = bytearray(chance.choice(good))
            for _ in range(chance.randrange(1, 4)):
                broken[chance.randrange(4, len(broken))] ^= 1 << chance.randrange(8)
            yield bytes(broken)
        elif kind < 9:
            size = chance.randrange(0, 200)
            yield struct.pack(">i", size) + chance.randbytes(size)
        else:
            yield struct.pack(">i", chance.choice([-1, 2**31 - 1, 352 << 20])) + chance.randbytes(20)


def send_malformed(broker, seed, count):
    """Each connection takes what it takes; when it is closed, the next one goes on."""
    chance = random.Random(seed)
    sock, in_a_row = None, 0
    for bytes_of_frame in malformed_frames(chance, count):
        try:
            if sock is None:
                sock, in_a_row = broker.connect(), 0
            sock.sendall(bytes_of_frame)
            in_a_row += 1
            if in_a_row >= 50:  # answers were not read: close with them
                sock.close()
                sock = None
        except OSError:
            if sock is not None:
                sock.close()
            sock = None
    if sock is not None:
        sock.close()


class OverloadTest(unittest.TestCase):
    def broker(self, *arguments, **keywords):
        broker = Broker(*arguments, **keywords)
        self.addCleanup(broker.close)
        with RawClient(broker) as client:
            self.assertEqual(client.create_topic("good"), 0)
            self.assertEqual(client.create_topic("healthy"), 0)
        return broker

    def test_a_hundred_thousand_malformed_frames_under_load(self):
        broker = self.broker("--set", "naru.log.level=warn")
        healthy = [HealthyClient(broker, "healthy") for _ in range(2)]
        for client in healthy:
            client.start()
        send_malformed(broker, 1, MALFORMED_FRAMES // 10)  # warm: buffers, threads and tables have their size
        before = broker.resident_bytes()
        threads = [threading.Thread(target=send_malformed, args=(broker, seed, MALFORMED_FRAMES // 4)) for seed in range(2, 6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = broker.resident_bytes()
        for client in healthy:
            client.stop()
            self.assertIsNone(client.problem)
            self.assertGreater(client.rounds, 0)
        self.assertIsNone(broker.process.poll(), broker.log)
        self.assertLessEqual(after, before * 1.2, "resident memory grew")
        self.assertEqual(broker.terminate(), 0)

    def test_thousands_of_idle_connections_and_parked_fetches_are_cheap(self):
        count = min(5_000, (raise_descriptor_limit() - 500) // 2)
        broker = self.broker()
        before = broker.resident_bytes()
        socks = [broker.connect() for _ in range(count)]
        self.addCleanup(lambda: [sock.close() for sock in socks])
        for sock in socks:
            sock.sendall(frame(API_VERSIONS, 0, b""))
        for sock in socks:
            read_frame(sock)
        idle = (broker.resident_bytes() - before) / count
        for sock in socks:
            sock.sendall(fetch_request("good", 0, max_wait=PATIENCE_S * 1000))
        with RawClient(broker) as client:  # behind all of them
            client.fetch("healthy", 0)
            parked = (broker.resident_bytes() - before) / count
            self.assertEqual(client.produce("good", batch([b"wakes everybody"]))[0], 0)
        for sock in socks:
            self.assertIn(b"wakes everybody", read_frame(sock))
        self.assertLess(idle, 4 << 10)
        self.assertLess(parked, 8 << 10)

    def test_a_client_that_does_not_read_makes_nothing_grow(self):
        broker = self.broker()
        with RawClient(broker) as client:
            for i in range(200):
                self.assertEqual(client.create_topic(f"topic-{i:03}-{'n' * 200}", partitions=2), 0)
        before = broker.resident_bytes()
        deaf = []
        everything = frame(METADATA, 1, struct.pack(">i", -1))
        for _ in range(20):
            sock = broker.connect()
            sock.setblocking(False)
            deaf.append(sock)
            try:
                for _ in range(2_000):
                    sock.send(everything)
            except BlockingIOError:
                pass
        with RawClient(broker) as client:
            for i in range(20):
                self.assertEqual(client.produce("good", batch([b"%d" % i]))[0], 0)
        self.assertLess(broker.resident_bytes() - before, 64 << 20)
        for sock in deaf:
            sock.close()

    def test_one_connection_that_sends_without_pause_does_not_starve_the_others(self):
        broker = self.broker("--set", "num.network.threads=1")
        stopping = threading.Event()

        def hammer():
            with broker.connect() as sock:
                sock.settimeout(0.1)
                requests = b"".join(frame(METADATA, 1, struct.pack(">i", 0), correlation=i) for i in range(2_000))
                while not stopping.is_set():
                    try:
                        sock.sendall(requests)
                    except (TimeoutError, OSError):
                        break
                    while not stopping.is_set():
                        try:
                            if len(sock.recv(1 << 20)) == 0:
                                return
                        except TimeoutError:
                            break

        threads = [threading.Thread(target=hammer) for _ in range(3)]
        for thread in threads:
            thread.start()
        with RawClient(broker) as client:
            for i in range(50):
                self.assertEqual(client.produce("good", batch([b"%d" % i]))[0], 0)
        stopping.set()
        for thread in threads:
            thread.join(PATIENCE_S)

    def admitted(self, broker):
        """A client that is let in: the broker may still have to notice that another one left."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            client = RawClient(broker)
            try:
                client.call(frame(API_VERSIONS, 0, b""))
                return client
            except (EOFError, OSError):
                client.close()
                self.assertLess(time.monotonic(), deadline)

    def test_too_many_connections_from_one_address_are_refused(self):
        broker = self.broker("--set", "max.connections.per.ip=3", "--set", "max.connections.per.ip.overrides=127.0.0.2:1")
        held = [self.admitted(broker) for _ in range(3)]
        with broker.connect() as fourth:
            self.assertEqual(fourth.recv(1), b"")
        def connect_from_elsewhere():
            return socket.create_connection(("127.0.0.1", broker.port), timeout=PATIENCE_S, source_address=("127.0.0.2", 0))

        other = [connect_from_elsewhere()]
        other[0].sendall(frame(API_VERSIONS, 0, b""))
        read_frame(other[0])  # it is counted now, on whichever loop it is
        other.append(connect_from_elsewhere())
        self.assertEqual(other[1].recv(1), b"")
        held[0].close()
        held[0] = self.admitted(broker)
        for client in held:
            client.close()
        for sock in other:
            sock.close()


class AdminPageTest(unittest.TestCase):
    def page(self, broker):
        return re.search(r"curl http://127\.0\.0\.1:(\d+)/metrics", broker.log)

    def test_a_thousand_idle_connections_do_not_keep_anybody_from_asking(self):
        broker = Broker(admin="127.0.0.1:0")
        self.addCleanup(broker.close)
        wait_until(lambda: self.page(broker), "the greeting names the page", broker)
        port = int(self.page(broker).group(1))
        idle = [socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) for _ in range(1_000)]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        connection.request("GET", "/healthz")
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.read()), (200, b"ok\n"))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
        connection.request("GET", "/metrics")
        metrics = connection.getresponse().read().decode()
        for name in ["naru_request_stage_seconds_bucket", "naru_connections_closed_total", "naru_event_loop_stalls",
                     "naru_memory_used_bytes"]:
            self.assertIn(name, metrics)
        for sock in idle:
            sock.close()
        self.assertEqual(broker.terminate(), 0)

    def test_an_address_in_use_stops_the_start_with_a_sentence(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            address = f"127.0.0.1:{taken.getsockname()[1]}"
            folder = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"naru-never-{os.getpid()}")
            done = subprocess.run([NARU, "server", "--kafka", "127.0.0.1:0", "--data", folder, "--set",
                                   f"naru.admin.listener={address}"], capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn(address, done.stderr)
        self.assertIn("naru.admin.listener", done.stderr)
        self.assertFalse(os.path.exists(folder), "nothing was touched")


if __name__ == "__main__":
    unittest.main()
