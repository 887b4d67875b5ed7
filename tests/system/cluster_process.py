"""Brokers of a cluster and the etcd that they need, as real processes."""

import base64
import json
import shutil
import socket
import subprocess
import tempfile
import urllib.request

from naru_process import PATIENCE_S, Broker


def free_ports(count):
    """Ports that nobody has now, chosen by the kernel."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [sock.getsockname()[1] for sock in sockets]
    for sock in sockets:
        sock.close()
    return ports


class ClusterBroker(Broker):
    """Others have to know its port before it listens there."""

    def start(self):
        if not self.port:
            (self.port,) = free_ports(1)
        super().start()


class Etcd:
    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="naru-etcd-")
        self.port, self.peer_port = free_ports(2)
        self.process = None

    def start(self):
        client, peer = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{self.peer_port}"
        self.process = subprocess.Popen(
            ["etcd", "--name", "one", "--data-dir", self.home + "/data", "--listen-client-urls", client,
             "--advertise-client-urls", client, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", f"one={peer}", "--unsafe-no-fsync"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait(PATIENCE_S)
        shutil.rmtree(self.home, ignore_errors=True)

    def address(self, root):
        return f"etcd://127.0.0.1:{self.port}/{root}"

    def delete(self, prefix):
        """How many keys that begin with this there were."""
        def encoded(key):
            return base64.b64encode(key).decode()
        end = prefix[:-1] + bytes([prefix[-1] + 1])
        body = json.dumps({"key": encoded(prefix), "range_end": encoded(end)}).encode()
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/v3/kv/deleterange", body, PATIENCE_S) as answer:
            return int(json.load(answer).get("deleted", 0))
