"""What an operator sees: first lines, clean shutdown, and refusals that say what to do."""

import os
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import types
import unittest

from naru_process import NARU, PATIENCE_S, Broker, frame, kcat, read_frame

METADATA = 3


def refused(*arguments, environment=None):
    """Exit code and message of a server that must not start."""
    done = subprocess.run([NARU, "server", "--kafka", "127.0.0.1:0", "--set", "naru.admin.listener=", *arguments],
                          capture_output=True, text=True, timeout=PATIENCE_S, env={**os.environ, **(environment or {})})
    return done.returncode, done.stderr


def first_connection(broker):
    """As soon as the broker, which is starting, accepts one."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            # From another address: thousands of attempts from the same one would sooner or later have the broker's own port.
            return socket.create_connection(("127.0.0.1", broker.port), PATIENCE_S, source_address=("127.0.0.2", 0))
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise


def errors_and_leaders(sock, topic):
    """Metadata version 0: the topic's error, and (error, leader) of each partition."""
    name = topic.encode()
    sock.sendall(frame(METADATA, 0, struct.pack(">ih", 1, len(name)) + name))
    answer = read_frame(sock)
    at = answer.index(struct.pack(">h", len(name)) + name) - 2
    (error,) = struct.unpack_from(">h", answer, at)
    at += 4 + len(name)
    (count,) = struct.unpack_from(">i", answer, at)
    # Each partition has one replica, which is in sync: index, leader and two arrays with one element.
    return error, [struct.unpack_from(">hxxxxi", answer, at + 4 + i * 26) for i in range(count)]


class SilentService:
    """A server that takes connections and never answers, as one that hangs."""

    def __init__(self, service):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.connections = []
        self.address = f"{service}://127.0.0.1:{self.listener.getsockname()[1]}/naru"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        try:
            while True:
                self.connections.append(self.listener.accept()[0])
        except OSError:
            pass

    def close(self):
        self.listener.close()
        for sock in self.connections:
            sock.close()


class StartAndStopTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="naru-test-")
        self.addCleanup(self.folder.cleanup)

    def broker(self, *arguments, **keywords):
        broker = Broker(*arguments, **keywords)
        self.addCleanup(broker.close)
        return broker

    def test_the_first_lines_say_how_to_talk_to_it(self):
        broker = self.broker()
        self.assertEqual(broker.terminate(), 0)
        self.assertIn(f"echo 'hello' | kcat -b {broker.address} -t greetings -P", broker.log)
        self.assertIn(f"kcat -b {broker.address} -t greetings -C -e", broker.log)

    def test_sigterm_is_a_clean_shutdown_and_the_data_is_there_afterwards(self):
        broker = self.broker()
        kcat(broker, "-P", "-t", "kept", "-p", "2", stdin=b"a\nb\n")
        self.assertEqual(broker.terminate(), 0)
        self.assertTrue(os.path.exists(os.path.join(broker.data, "clean-shutdown")))
        broker.start()
        self.assertFalse(os.path.exists(os.path.join(broker.data, "clean-shutdown")), "it is true only while nobody runs")
        self.assertEqual(kcat(broker, "-C", "-t", "kept", "-p", "2", "-e"), b"a\nb\n")

    def test_a_terminal_that_is_gone_is_a_clean_shutdown(self):
        broker = self.broker()
        kcat(broker, "-P", "-t", "kept", "-p", "2", stdin=b"a\n")
        broker.process.send_signal(signal.SIGHUP)
        self.assertEqual(broker.process.wait(PATIENCE_S), 0, broker.log)
        self.assertTrue(os.path.exists(os.path.join(broker.data, "clean-shutdown")))

    def test_nohup_keeps_a_broker_whose_terminal_is_gone(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGHUP, before)
        broker = self.broker()
        broker.process.send_signal(signal.SIGHUP)
        kcat(broker, "-P", "-t", "kept", stdin=b"a\n")
        self.assertEqual(broker.terminate(), 0)
        self.assertNotIn("SIGHUP", broker.log)

    def test_a_listener_for_everybody_is_told_loudly(self):
        loud = "WITHOUT AUTHENTICATION"
        broker = self.broker()
        self.assertNotIn(loud, broker.log)
        process = subprocess.Popen([NARU, "server", "--data", self.folder.name + "/open", "--kafka", "0.0.0.0:0",
                                    "--set", "naru.admin.listener="], stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        lines = ""
        for line in process.stderr:
            lines += line
            if " ready: " in line:
                break
        self.assertIn("listener PLAINTEXT accepts connections from other machines", lines)
        self.assertIn(loud, lines)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(PATIENCE_S), 0)

    def waiting_for(self, service, *arguments):
        """A broker that waits for a coordination service which does not answer."""
        silent = SilentService(service)
        self.addCleanup(silent.close)
        process = subprocess.Popen([NARU, "server", "--data", self.folder.name + "/" + service, "--kafka", "127.0.0.1:19092",
                                    "--set", "naru.admin.listener=", "--coordination", silent.address, *arguments],
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.kill)
        deadline = time.monotonic() + PATIENCE_S
        while not silent.connections:
            self.assertLess(time.monotonic(), deadline, "it does not ask the service")
            time.sleep(0.01)
        return process

    def test_a_broker_that_waits_for_its_coordination_service_stops_when_it_is_told_to(self):
        for service in ["etcd", "zookeeper"]:
            for number in [signal.SIGTERM, signal.SIGINT]:
                process = self.waiting_for(service, "--set", "naru.coordination.start.timeout.ms=3600000")
                process.send_signal(number)
                # A single attempt alone would take ten seconds.
                self.assertEqual(process.wait(8), 0)
                self.assertIn("stopped before it had started", process.stderr.read())

    def test_a_coordination_service_is_waited_for_as_long_as_was_said(self):
        for service in ["etcd", "zookeeper"]:
            for seconds in [3, 14]:
                process = self.waiting_for(service, "--set", f"naru.coordination.start.timeout.ms={seconds}000")
                begun = time.monotonic()
                self.assertEqual(process.wait(PATIENCE_S), 1)
                took = time.monotonic() - begun
                self.assertGreater(took, seconds - 1.5)
                self.assertLess(took, seconds + 6)
                self.assertIn("cannot begin a session", process.stderr.read())

    def test_a_cluster_needs_an_address_that_others_reach(self):
        silent = SilentService("etcd")
        self.addCleanup(silent.close)
        done = subprocess.run([NARU, "server", "--data", self.folder.name + "/alone", "--set", "naru.admin.listener=",
                               "--coordination", silent.address], capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, 1)
        self.assertIn("set listeners", done.stderr)

    def test_the_first_connection_after_kill_9_is_told_of_topics_and_leaders(self):
        broker = self.broker("--set", "num.partitions=8")
        for i in range(10):
            kcat(broker, "-P", "-t", f"topic-{i}", stdin=b"x\n" * 100)
        for _ in range(3):
            broker.kill()
            starter = threading.Thread(target=broker.start)
            starter.start()
            with first_connection(broker) as sock:
                for i in range(10):
                    # A client that is told of no leader would wait, or forget the topic.
                    self.assertEqual(errors_and_leaders(sock, f"topic-{i}"), (0, [(0, 1)] * 8))
            starter.join(PATIENCE_S)

    def test_several_data_folders_share_the_partitions(self):
        folders = [os.path.join(self.folder.name, name) for name in ["one", "two"]]
        broker = self.broker(data=",".join(folders))
        kcat(broker, "-P", "-t", "spread", stdin=b"x\n")
        placed = [sum(name.startswith("spread-") for name in os.listdir(folder)) for folder in folders]
        self.assertEqual(placed, [2, 2])
        self.assertEqual(broker.terminate(), 0)
        broker.start()
        self.assertEqual(kcat(broker, "-C", "-t", "spread", "-e"), b"x\n")

    def test_a_disk_that_is_not_mounted_stops_the_start(self):
        folders = [os.path.join(self.folder.name, name) for name in ["one", "two"]]
        broker = self.broker(data=",".join(folders))
        kcat(broker, "-P", "-t", "kept", stdin=b"x\n")
        self.assertEqual(broker.terminate(), 0)
        os.rename(folders[1], folders[1] + ".elsewhere")
        for _ in range(2):  # the first refusal leaves nothing that would please the second start
            code, message = refused("--data", broker.data)
            self.assertEqual(code, 1)
            self.assertIn("2 partitions", message)
            self.assertIn(folders[1], message)
            self.assertEqual([name for name in os.listdir(folders[1]) if name.startswith("kept-")], [])
        shutil.rmtree(folders[1])
        os.rename(folders[1] + ".elsewhere", folders[1])
        broker.start()
        self.assertEqual(kcat(broker, "-C", "-t", "kept", "-e"), b"x\n")
        self.assertEqual(broker.terminate(), 0)
        # A disk that is added is as new, but nothing is missing.
        broker.data += "," + os.path.join(self.folder.name, "three")
        broker.start()
        self.assertEqual(kcat(broker, "-C", "-t", "kept", "-e"), b"x\n")

    def test_a_partition_whose_folder_is_missing_does_not_begin_empty(self):
        broker = self.broker()
        kcat(broker, "-P", "-t", "kept", "-p", "0", stdin=b"x\n")
        self.assertEqual(broker.terminate(), 0)
        folder = os.path.join(broker.data, "kept-0")
        os.rename(folder, folder + ".elsewhere")
        broker.start()
        self.assertIn(f"the folder {folder} is missing", broker.log)
        self.assertEqual(broker.terminate(), 0)
        os.rename(folder + ".elsewhere", folder)
        broker.start()
        self.assertEqual(kcat(broker, "-C", "-t", "kept", "-p", "0", "-e"), b"x\n")
        self.assertEqual(broker.terminate(), 0)
        # Unless a person says so.
        shutil.rmtree(folder)
        manifest = os.path.join(broker.data, "partition-folders")
        with open(manifest) as file:
            lines = file.readlines()
        with open(manifest, "w") as file:
            file.writelines(line for line in lines if "kept" not in line)
        broker.start()
        self.assertEqual(kcat(broker, "-C", "-t", "kept", "-p", "0", "-e"), b"")
        self.assertIn("1 partitions of known topics have no folder, kept-0 is the first of them", broker.log)

    def test_closed_standard_streams_are_not_taken_by_files(self):
        for closed in ["2>&-", "<&- >&- 2>&-"]:
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            command = f"exec {NARU} server --data {self.folder.name}/closed --kafka 127.0.0.1:{port} --set naru.admin.listener= {closed}"
            process = subprocess.Popen(["bash", "-c", command])
            self.addCleanup(process.wait, PATIENCE_S)
            self.addCleanup(process.kill)
            starting = types.SimpleNamespace(port=port)
            with first_connection(starting) as sock:
                self.assertEqual(os.readlink(f"/proc/{process.pid}/fd/2"), "/dev/null")
                errors_and_leaders(sock, "made-by-asking")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(PATIENCE_S), 0)

    def test_a_flag_without_a_value_is_not_the_default(self):
        for flag in ["--data", "--kafka", "--config"]:
            code, message = refused(flag, "")
            self.assertEqual(code, 2)
            self.assertIn(flag, message)

    def test_a_folder_that_is_not_ours_is_left_alone(self):
        with open(os.path.join(self.folder.name, "holiday.jpg"), "w") as file:
            file.write("not a log")
        code, message = refused("--data", self.folder.name)
        self.assertEqual(code, 1)
        self.assertIn(self.folder.name, message)
        self.assertEqual(os.listdir(self.folder.name), ["holiday.jpg"])

    def test_a_newer_format_is_refused_with_what_to_do(self):
        broker = self.broker()
        self.assertEqual(broker.terminate(), 0)
        path = os.path.join(broker.data, "naru.properties")
        with open(path) as file:
            content = file.read()
        newer = "\n".join("naru.data.format=999" if line.startswith("naru.data.format=") else line for line in content.split("\n"))
        self.assertNotEqual(newer, content)
        with open(path, "w") as file:
            file.write(newer)
        code, message = refused("--data", broker.data)
        self.assertEqual(code, 1)
        self.assertIn("999", message)

    def test_another_node_cannot_take_the_folder(self):
        broker = self.broker()
        code, message = refused("--data", broker.data)
        self.assertEqual(code, 1)
        self.assertIn(broker.data, message)
        self.assertEqual(broker.terminate(), 0)
        code, message = refused("--data", broker.data, "--node-id", "7")
        self.assertEqual(code, 1)

    def test_a_port_in_use_says_so(self):
        broker = self.broker()
        code, message = refused("--data", self.folder.name + "/new", "--kafka", broker.address)
        self.assertEqual(code, 1)
        self.assertIn(broker.address, message)

    def test_wrong_configuration_names_key_place_and_what_would_be_right(self):
        code, message = refused("--set", "num.partition=3")
        self.assertEqual(code, 2)
        self.assertIn("num.partitions", message)
        code, message = refused(environment={"NARU_NODE_ID": "minus one"})
        self.assertEqual(code, 2)
        self.assertIn("NARU_NODE_ID", message)


if __name__ == "__main__":
    unittest.main()
