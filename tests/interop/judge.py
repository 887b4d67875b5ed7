#!/usr/bin/python3
"""Sends the same requests to Naru and to Apache Kafka and compares the answers field by field: judge.py [CASE...]

A case of judge_cases.py is a function that asks one side after the other and yields what was answered. Every field of every answer has
to be the same, but for the differences that judge_differences.py declares with a reason; that one occurs nowhere any more is an error,
too. Texts for people (error messages) may differ in their words, but not in being there.
"""

import os
import re
import shutil
import sys
import tempfile
import time
import types

import apache_kafka
import judge_cases
import judge_differences

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "system"))

import kafka_messages  # noqa: E402
from naru_process import Broker  # noqa: E402

WAIT_S = 60
A_MOMENT_S = 300
TEXTS = {"error_message", "documentation", "batch_index_error_message"}  # for people
# What tells the elements of a list apart; where none does, they are compared in their order.
IDENTITIES = ["name source", "name", "topic", "topic_name", "topic_id", "resource_type resource_name", "resource_name", "feature", "user",
              "group_id", "partition_index", "index", "partition", "batch_index", "replica_id", "node_id", "broker_id", "api_key",
              "transactional_id"]
OF_CONTROLLERS = {"controller.listener.names", "listener.security.protocol.map"}  # Naru has no listener for them
OF_THE_MACHINE = {"num.network.threads": "2"}  # Naru's default is the number of cores
CLOSED = {"connection": "closed"}
ABSENT = "absent"


class Side:
    """One of the two, with the names of what is different by its nature: its port, its folders, the ids that it has given."""

    def __init__(self, broker, home, versions=None):
        self.broker, self.symbols = broker, {str(broker.port): "<port>", home: "<home>"}  # by what they stand for
        self.shared_versions = versions or {}
        self.ids = {}

    def versions(self, api, at_least=0):
        """Those that both sides speak."""
        found = [version for version in self.shared_versions[api] if version >= at_least]
        if not found:
            raise RuntimeError(f"one side does not offer {api}")
        return found

    def call(self, api, version, **fields):
        """The answer as dictionaries, lists and values, with symbols; a connection that is closed instead is an answer as well."""
        try:
            return self.symbolic(self.ask(api, version, **fields))
        except (EOFError, ConnectionError):
            return CLOSED

    def ask(self, api, version, **fields):
        with kafka_messages.Connection(self.broker) as connection:
            return connection.call(api, version, **fields)

    def symbolic(self, value, field=""):
        if isinstance(value, types.SimpleNamespace):
            return {name: self.symbolic(inner, name) for name, inner in vars(value).items()}
        if isinstance(value, list):
            return [self.symbolic(inner, field) for inner in value]
        if isinstance(value, bytes):
            return self.ids.get(value) or value.hex()
        if isinstance(value, str):
            for concrete, symbol in self.symbols.items():
                value = re.sub(rf"(?<!\d){re.escape(concrete)}(?!\d)", symbol, value)
            return value
        if field.endswith("timestamp") and abs(value / 1000 - time.time()) < A_MOMENT_S:
            return "<now>"
        return "<port>" if field == "port" and value == self.broker.port else value

    def create_topic(self, name, partitions=1, **configs):
        """Returns its id, when the topic can be used."""
        created = self.ask("CreateTopics", 7, timeout_ms=30000, topics=[
            {"name": name, "num_partitions": partitions, "replication_factor": 1,
             "configs": [{"name": key.replace("_", "."), "value": value} for key, value in configs.items()]}]).topics[0]
        if created.error_code != 0:
            raise RuntimeError(f"{name}: error {created.error_code}, {created.error_message}")
        self.wait(lambda: self.has_leaders(name), f"{name} has leaders")
        self.ids[created.topic_id] = f"<id of {name}>"
        return created.topic_id

    def has_leaders(self, name):
        topic = self.ask("Metadata", 12, topics=[{"name": name}], allow_auto_topic_creation=False).topics[0]
        return topic.error_code == 0 and all(each.error_code == 0 for each in topic.partitions)

    def coordinate(self, group):
        """The group's coordinator has read its log."""
        def ready():
            found = self.ask("FindCoordinator", 4, key_type=0, coordinator_keys=[group]).coordinators[0]
            return found.error_code == 0 and self.ask("OffsetFetch", 8, groups=[{"group_id": group, "topics": None}]).groups[0].error_code == 0
        self.wait(ready, f"a coordinator of {group}")

    def producer(self, transactional_id):
        """The answer that gave it a producer id, when its coordinator has read its log."""
        answers = []

        def ready():
            found = self.ask("FindCoordinator", 4, key_type=1, coordinator_keys=[transactional_id]).coordinators[0]
            if found.error_code == 0:
                answers.append(self.ask("InitProducerId", 5, transactional_id=transactional_id, transaction_timeout_ms=60000))
            return answers and answers[-1].error_code == 0
        self.wait(ready, f"a producer id for {transactional_id}")
        return answers[-1]

    def wait(self, condition, what):
        deadline = time.monotonic() + WAIT_S
        while not condition():
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what}: not within {WAIT_S} s")
            time.sleep(0.05)


def fields_of(value, path=""):
    """(path, value) of every field and of every element of a list, inner ones after the outer one."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from fields_of(inner, f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        yield path, "a list"
        for name, inner in zip(identities(value) or range(len(value)), value):
            yield f"{path}[{name}]", "there"
            yield from fields_of(inner, f"{path}[{name}]")
    else:
        is_text = path.rsplit(".", 1)[-1] in TEXTS and value
        yield path, "<text>" if is_text else value


def identities(elements):
    if not elements or not all(isinstance(element, dict) for element in elements):
        return None
    for fields in map(str.split, IDENTITIES):
        if not all(field in element for field in fields for element in elements):
            continue
        names = ["/".join(str(element[field]) for field in fields) for element in elements]
        names = [name for name in names if name]
        if len(names) == len(elements) == len(set(names)):
            return names
    return None


def compare(ours, theirs):
    """[(path, ours, theirs)] of the fields that differ; ABSENT for one that is not there, and then nothing of what is in it."""
    if CLOSED in (ours, theirs) and ours != theirs:
        return [("connection", *("closed" if answer == CLOSED else "open" for answer in (ours, theirs)))]
    ours, theirs = dict(fields_of(ours)), dict(fields_of(theirs))
    found, absent = [], set()
    for path in {**theirs, **ours}:
        mine, kafkas = ours.get(path, ABSENT), theirs.get(path, ABSENT)
        if type(mine) is type(kafkas) and mine == kafkas:
            continue
        if ABSENT in (mine, kafkas) and absent.intersection(containers(path)):
            continue
        if ABSENT in (mine, kafkas):
            absent.add(path)
        found.append((path, mine, kafkas))
    return sorted(found, key=lambda each: each[0])


def containers(path):
    """Every list element and field that this one is in."""
    return [path[:found.start()] for found in re.finditer(r"(?<=.)[.\[]", path)]


def shared_versions(*sides):
    """API -> the versions that all sides advertise and our schemas know."""
    shared = {}
    tables = [{each.api_key: range(each.min_version, each.max_version + 1) for each in advertised(side)} for side in sides]
    for file in sorted(os.listdir(os.path.join(kafka_messages.SCHEMAS, "kafka"))):
        if not file.endswith("_request.json"):
            continue
        description = kafka_messages.schema(file.removesuffix(".json"))
        api = description["name"].removesuffix("Request")
        shared[api] = [version for version in kafka_messages.versions_of(api)
                       if all(version in table.get(description["apiKey"], ()) for table in tables)]
    return shared


def advertised(side):
    return side.ask("ApiVersions", 4, client_software_name="judge", client_software_version="1").api_keys


class Judge:
    """Both brokers, and what came of the cases so far."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="naru-judge-")
        self.kafka = apache_kafka.ApacheKafka(os.path.join(self.home, "kafka"), OF_THE_MACHINE)
        self.naru = None
        self.used = set()
        self.fields = 0

    def __enter__(self):
        try:
            self.kafka.start()
            settings = {**apache_kafka.SETTINGS, **OF_THE_MACHINE}
            self.naru = Broker(*(word for key in settings.keys() - OF_CONTROLLERS for word in ("--set", f"{key}={settings[key]}")))
            self.sides = [Side(self.naru, self.naru.home), Side(self.kafka, self.kafka.folder)]
            self.sides[1].symbols[str(self.kafka.controller_port)] = "<port of controllers>"
            versions = shared_versions(*self.sides)
            for side in self.sides:
                side.shared_versions = versions
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.naru:
            self.naru.close()
        self.kafka.kill()
        shutil.rmtree(self.home, ignore_errors=True)

    def try_case(self, case, differences):
        """The differences that are not declared: (case, label, path, ours, theirs) each."""
        ours, theirs = ({label: answer for label, answer in case(side)} for side in self.sides)
        self.fields += sum(1 for answer in theirs.values() for _ in fields_of(answer))
        problems = []
        for label in sorted({*ours, *theirs}):
            for path, mine, kafkas in compare(ours.get(label), theirs.get(label)):
                where = f"{case.__name__}: {label}: {path}"
                declared = next((place for each in differences for place in each.places if re.search(place, where)), None)
                if declared:
                    self.used.add(declared)
                else:
                    problems.append((case.__name__, label, path, mine, kafkas))
        return problems


def in_words(problems):
    """A line for each difference; one that several versions have is one."""
    versions = {}
    for case, label, path, ours, theirs in problems:
        version = re.search(r" v(\d+)", label)
        alike = (case, re.sub(r" v\d+", " v*", label), path, repr(ours), repr(theirs))
        versions.setdefault(alike, []).append(int(version.group(1)) if version else None)
    for (case, label, path, ours, theirs), numbers in versions.items():
        shown = label.replace("v*", f"v{min(numbers)}-{max(numbers)}" if len(numbers) > 1 else f"v{numbers[0]}")
        yield f"{case}: {shown}: {path}: Naru {ours}, Kafka {theirs}"


def run(cases, differences):
    """What passed, in a few words; raises an error that lists every difference."""
    with Judge() as judge:
        problems = list(in_words([problem for case in cases for problem in judge.try_case(case, differences)]))
        names = "|".join(case.__name__ for case in cases)
        concerned = [place for each in differences for place in each.places if re.match(rf"\^({names}): ", place)]
        problems += [f"declared, and found nowhere: {place}" for place in concerned if place not in judge.used]
        if problems:
            raise RuntimeError(f"{len(problems)} undeclared differences\n" + "\n".join(problems))
        return f"{judge.fields} fields of {len(cases)} cases are as in Apache Kafka {apache_kafka.VERSION}, {len(judge.used)} differences"


class Check:
    """A row of the table of checks: some cases, on two brokers of their own."""

    version = apache_kafka.VERSION

    def __init__(self, name, cases):
        self.name, self.cases = name, cases

    def missing(self):
        return apache_kafka.missing()

    def run(self):
        return run(self.cases, judge_differences.DIFFERENCES)


CHECKS = [Check(f"answers-{name}", cases) for name, cases in judge_cases.GROUPS.items()]


def main():
    words = sys.argv[1:]
    cases = [case for group in judge_cases.GROUPS.values() for case in group
             if not words or any(word in case.__name__ for word in words)]
    try:
        print(run(cases, judge_differences.DIFFERENCES))
    except RuntimeError as problem:
        sys.exit(str(problem))


if __name__ == "__main__":
    main()
