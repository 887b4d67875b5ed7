"""The commands of the binary, as scripts and people use them."""

import json
import os
import pty
import signal
import socket
import subprocess
import tempfile
import time
import unittest

from naru_process import NARU, PATIENCE_S, Broker


class CliTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker()
        cls.addClassCleanup(cls.broker.close)
        cls.environment = {**os.environ, "NARU_BOOTSTRAP": cls.broker.address}

    def naru(self, *words, stdin="", code=0, env=None):
        """Standard output; the exit code must be `code`."""
        done = self.run_naru(*words, stdin=stdin, env=env)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout

    def run_naru(self, *words, stdin="", env=None):
        return subprocess.run([NARU, *words], input=stdin, capture_output=True, text=True, timeout=PATIENCE_S,
                              env={**self.environment, **(env or {})})

    def start_naru(self, *words, **keywords):
        process = subprocess.Popen([NARU, *words], env=self.environment, text=True, **keywords)
        self.addCleanup(process.wait, PATIENCE_S)
        self.addCleanup(process.kill)
        return process

    def refused(self, *words, code=1, stdin="", env=None):
        """Standard error of a command that must fail, without a word on standard output."""
        done = self.run_naru(*words, stdin=stdin, env=env)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def json(self, *words, **keywords):
        return json.loads(self.naru(*words, "--json", **keywords))

    # ---- topics

    def test_topics_as_json(self):
        created = self.json("topic", "create", "json", "--partitions", "2", "--config", "retention.ms=1000000")
        self.assertEqual((created["name"], created["partitions"], created["replicas"]), ("json", 2, 1))
        listed = {topic["name"]: topic for topic in self.json("topic", "list")}
        self.assertEqual(listed["json"]["id"], created["id"])
        self.assertEqual(listed["json"]["offline_partitions"], 0)
        self.naru("produce", "json", "--partition", "1", stdin="x\n")
        (described,) = self.json("topic", "describe", "json")
        self.assertEqual([(p["partition"], p["start_offset"], p["end_offset"]) for p in described["partitions"]],
                         [(0, 0, 0), (1, 0, 1)])
        self.assertEqual(self.json("topic", "delete", "json"), {"deleted": ["json"]})
        self.assertNotIn("json", [topic["name"] for topic in self.json("topic", "list")])

    def test_partitions_and_configuration_can_be_changed(self):
        self.naru("topic", "create", "changing", "--partitions", "1")
        self.assertEqual(self.json("topic", "set-partitions", "changing", "3"), {"name": "changing", "partitions": 3})
        self.naru("produce", "changing", "--partition", "2", stdin="x\n")
        self.assertIn("INVALID_PARTITIONS", self.refused("topic", "set-partitions", "changing", "2"))
        changed = self.json("topic", "config", "changing", "--set", "retention.ms=5000", "--set", "cleanup.policy=compact")
        self.assertEqual({entry["key"]: (entry["value"], entry["source"]) for entry in changed["config"]},
                         {"retention.ms": ("5000", "topic"), "cleanup.policy": ("compact", "topic")})
        rest = self.json("topic", "config", "changing", "--delete", "retention.ms")
        self.assertEqual([entry["key"] for entry in rest["config"]], ["cleanup.policy"])
        everything = self.json("topic", "config", "changing", "--all")["config"]
        self.assertGreater(len(everything), 20)
        self.assertIn("default", {entry["source"] for entry in everything})
        self.assertIn("retention.ms", self.refused("topic", "config", "changing", "--set", "retention.ms=soon"))
        self.assertIn("no.such.key", self.refused("topic", "config", "changing", "--set", "no.such.key=1"))
        self.assertIn("key=value", self.refused("topic", "config", "changing", "--set", "retention.ms", code=2))
        self.assertIn("no such topic", self.refused("topic", "config", "nothing"))
        (described,) = self.json("topic", "describe", "changing")
        self.assertEqual(described["config"], {"cleanup.policy": "compact"})

    def test_bad_topics_are_refused_with_the_reason(self):
        self.assertIn("INVALID_TOPIC_EXCEPTION", self.refused("topic", "create", "no spaces"))
        self.assertIn("INVALID_TOPIC_EXCEPTION", self.refused("topic", "create", "x" * 250))
        self.assertIn("INVALID_CONFIG", self.refused("topic", "create", "t", "--config", "no.such.key=1"))
        self.assertIn("INVALID_REPLICATION_FACTOR", self.refused("topic", "create", "t", "--replicas", "3"))
        self.assertIn("--partitions", self.refused("topic", "create", "t", "--partitions", "0", code=2))
        self.assertIn("key=value", self.refused("topic", "create", "t", "--config", "retention.ms", code=2))
        self.assertIn("no such topic", self.refused("topic", "describe", "t"))
        self.assertIn("no such topic", self.refused("topic", "delete", "t"))
        error = json.loads(self.refused("topic", "create", "no spaces", "--json"))["error"]
        self.assertEqual(error["code"], "INVALID_TOPIC_EXCEPTION")

    # ---- records

    def test_what_goes_in_comes_out(self):
        value = "".join(chr(c) for c in range(32, 127)) + "ü€𝄞"
        self.naru("produce", "roundtrip", "--partition", "2", "--header", "a=b=c", "--compression", "zstd", stdin=value + "\n")
        self.assertEqual(self.naru("consume", "roundtrip"), value + "\n")
        record = json.loads(self.naru("consume", "roundtrip", "--json"))
        self.assertEqual((record["value"], record["key"], record["partition"], record["offset"]), (value, None, 2, 0))
        self.assertEqual(record["headers"], [{"key": "a", "value": "b=c"}])

    def test_bytes_that_are_not_text(self):
        subprocess.run([NARU, "produce", "binary"], input=b"\xff\x00\xfe\n", env=self.environment, check=True,
                       stdout=subprocess.DEVNULL, timeout=PATIENCE_S)
        done = subprocess.run([NARU, "consume", "binary"], capture_output=True, env=self.environment, timeout=PATIENCE_S)
        self.assertEqual(done.stdout, b"\xff\x00\xfe\n")
        self.assertEqual(json.loads(self.naru("consume", "binary", "--json"))["value_base64"], "/wD+")

    def test_a_file_of_many_lines(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            lines = [f"line {i}" for i in range(50_000)]
            file.write("\n".join(lines) + "\n")
            file.flush()
            produced = self.json("produce", "file", "--file", file.name, "--partition", "0")
        self.assertEqual((produced["records"], produced["failed"]), (50_000, 0))
        self.assertEqual(self.naru("consume", "file").splitlines(), lines)
        self.assertEqual(self.naru("consume", "file", "--from", "-2", "--partition", "0").splitlines(), lines[-2:])
        self.assertIn("/no/such/file", self.refused("produce", "file", "--file", "/no/such/file"))

    def test_generated_load_keeps_to_its_rate(self):
        produced = self.json("produce", "load", "--count", "200", "--rate", "400", "--size", "1KiB", "--acks", "1")
        self.assertEqual((produced["records"], produced["bytes"]), (200, 200 * 1024))
        self.assertGreater(produced["seconds"], 199 / 400 - 0.01)
        self.assertGreater(produced["latency_ms"]["max"], 0)

    def test_a_record_that_is_too_large_says_so(self):
        self.naru("topic", "create", "small", "--config", "max.message.bytes=1000")
        error = self.refused("produce", "small", stdin="x" * 2000 + "\n")
        self.assertIn("MESSAGE_TOO_LARGE", error)
        self.assertIn("max.message.bytes", error)

    def test_times_and_offsets_to_begin_at(self):
        self.naru("topic", "create", "times", "--partitions", "1")
        self.naru("produce", "times", stdin="before\n")
        middle = json.loads(self.naru("consume", "times", "--json"))["timestamp"] + 1
        self.naru("produce", "times", stdin="after\n")
        self.assertEqual(self.naru("consume", "times", "--from", f"@{middle}"), "after\n")
        self.assertEqual(self.naru("consume", "times", "--from", "1h"), "before\nafter\n")
        self.assertEqual(self.naru("consume", "times", "--from", "2020-01-01"), "before\nafter\n")
        self.assertEqual(self.naru("consume", "times", "--from", "1"), "after\n")
        self.assertEqual(self.naru("consume", "times", "--from", "99"), "")
        self.assertIn("yesterday", self.refused("consume", "times", "--from", "yesterday", code=2))

    # ---- ends

    def test_following_ends_cleanly_with_ctrl_c(self):
        self.naru("produce", "follow", stdin="one\n")
        process = self.start_naru("consume", "follow", "--follow", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "one\n")
        self.naru("produce", "follow", stdin="two\n")
        self.assertEqual(process.stdout.readline(), "two\n")
        process.send_signal(signal.SIGINT)
        rest, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, rest, errors), (0, "", ""))

    def test_following_notices_that_nobody_reads(self):
        self.naru("produce", "closed", stdin="one\n")
        process = self.start_naru("consume", "closed", "--follow", stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "one\n")
        process.stdout.close()
        self.assertEqual(process.wait(PATIENCE_S), 0)
        self.assertEqual(process.stderr.read(), "")
        process.stderr.close()

    def test_a_closed_pipe_is_not_an_error(self):
        self.naru("produce", "pipe", "--count", "100000")
        done = subprocess.run(["bash", "-c", f"set -o pipefail; {NARU} consume pipe | head -n 2"], env=self.environment,
                              capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual((done.returncode, done.stderr, len(done.stdout.splitlines())), (0, "", 2))

    def test_output_that_gets_lost_is_an_error(self):
        self.naru("produce", "lost", stdin="one\n")
        for words in ["topic list --json", "consume lost", "version"]:
            for where, why in [("> /dev/full", "No space left"), (">&-", "Bad file descriptor")]:
                done = subprocess.run(["bash", "-c", f"{NARU} {words} {where}"], env=self.environment,
                                      capture_output=True, text=True, timeout=PATIENCE_S)
                self.assertEqual(done.returncode, 1, words + where)
                self.assertIn(why, done.stderr)

    def test_input_that_is_closed_is_an_error(self):
        done = subprocess.run(["bash", "-c", f"{NARU} produce closed-input <&-"], env=self.environment,
                              capture_output=True, text=True, timeout=PATIENCE_S)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("standard input", done.stderr)

    def test_ctrl_c_delivers_what_was_read(self):
        self.naru("topic", "create", "interrupted", "--partitions", "1")
        process = self.start_naru("produce", "interrupted", stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE)
        process.stdin.write("one\n")
        process.stdin.flush()
        deadline = time.monotonic() + PATIENCE_S
        while self.naru("consume", "interrupted") != "one\n":
            self.assertLess(time.monotonic(), deadline)
        process.send_signal(signal.SIGINT)
        process.wait(PATIENCE_S)  # with its input open: an end of the input would be an ordinary end
        output, errors = process.communicate()
        self.assertEqual((process.returncode, output), (1, "produced 1 record (3 B) to interrupted\n"))
        self.assertIn("interrupted", errors)

    # ---- cluster, doctor, help

    def test_the_state_of_the_cluster(self):
        status = self.json("cluster", "status")
        self.assertEqual(status["offline_partitions"], 0)
        self.assertEqual([broker["port"] for broker in status["brokers"]], [self.broker.port])
        self.assertEqual(status["controller"], status["brokers"][0]["id"])
        self.assertGreater(status["brokers"][0]["disk_total_bytes"], 0)
        self.assertEqual(status["brokers"][0]["offline_folders"], 0)
        self.assertIn(self.broker.address, self.naru("cluster", "status"))

    def test_the_doctor(self):
        with tempfile.TemporaryDirectory() as folder:
            findings = self.json("doctor", "--data", folder)
            self.assertEqual(os.listdir(folder), [])
        checks = {finding["check"]: finding["verdict"] for finding in findings}
        self.assertEqual(checks[f"reach {self.broker.address}"], "ok")
        self.assertIn(checks[f"sync in {folder}"], ["ok", "warn"], "a busy machine may be slow")
        self.assertEqual(checks["clock of broker 1"], "ok")
        self.assertIn("open files", checks)
        self.naru("doctor", "--data", "/no/such/folder", code=1)

    def test_the_doctor_finds_an_address_that_cannot_be_reached(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            wrong = f"127.0.0.1:{unused.getsockname()[1]}"
            broker = Broker("--advertise", wrong)
            self.addCleanup(broker.close)
            report = self.naru("doctor", code=1, env={"NARU_BOOTSTRAP": broker.address})
            self.assertIn(f"fail  broker 1 at {wrong}", report)
            self.assertIn("--advertise", report)
            error = self.refused("produce", "t", "--timeout", "2s", stdin="x\n", env={"NARU_BOOTSTRAP": broker.address})
            self.assertIn(f"advertises {wrong}", error)

    def test_nobody_there(self):
        nobody = {"NARU_BOOTSTRAP": "127.0.0.1:1"}
        for words in [("topic", "list"), ("topic", "create", "t"), ("consume", "t"), ("cluster", "status")]:
            error = self.refused(*words, env=nobody)
            self.assertIn("127.0.0.1:1", error)
            self.assertIn("Is a broker running there?", error)
        self.assertIn("no-such-host.invalid", self.refused("topic", "list", "--bootstrap", "no-such-host.invalid:9092"))
        self.naru("doctor", code=1, env=nobody)

    def test_a_server_of_another_kind(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            process = self.start_naru("topic", "list", "--bootstrap", f"127.0.0.1:{server.getsockname()[1]}",
                                      "--timeout", "10s", stderr=subprocess.PIPE, stdout=subprocess.PIPE)
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
                output, errors = process.communicate(timeout=PATIENCE_S)
        self.assertEqual((process.returncode, output), (1, ""))
        self.assertIn("127.0.0.1", errors)

    def test_words_that_make_no_sense(self):
        self.assertIn("there is no command 'tpoic'", self.refused("tpoic", code=2))
        self.assertIn("--jsn", self.refused("topic", "list", "--jsn", code=2))
        self.assertIn("HOST:PORT", self.refused("topic", "list", "--bootstrap", "here", code=2))
        self.assertIn("NAME", self.refused("topic", "create", code=2))

    def test_help_and_version(self):
        for words in [("help",), ("--help",), ("help", "consume"), ("topic", "create", "--help")]:
            self.assertIn("Usage: ", self.naru(*words))
        self.assertRegex(self.naru("version"), r"^naru \d+\.\d+\.\d+\n$")
        self.assertEqual(f"naru {self.json('version')['version']}\n", self.naru("version"))

    def test_colours_are_for_terminals_only(self):
        self.assertNotIn("\x1b", self.naru("cluster", "status"))
        for variables, coloured in [({}, True), ({"NO_COLOR": "1"}, False)]:
            ours, theirs = pty.openpty()
            environment = {key: value for key, value in self.environment.items() if key != "NO_COLOR"}
            process = subprocess.Popen([NARU, "cluster", "status"], stdout=theirs, env={**environment, **variables})
            self.assertEqual(process.wait(PATIENCE_S), 0)
            os.close(theirs)
            self.assertEqual(b"\x1b[" in os.read(ours, 65536), coloured)
            os.close(ours)

    def test_a_server_does_not_mind_the_variable_of_clients(self):
        os.environ["NARU_BOOTSTRAP"] = "elsewhere:1"
        self.addCleanup(os.environ.pop, "NARU_BOOTSTRAP")
        broker = Broker()
        self.addCleanup(broker.close)
        self.assertEqual(broker.terminate(), 0)


if __name__ == "__main__":
    unittest.main()
