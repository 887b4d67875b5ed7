"""Any Kafka API in any version, by the schemas in schemas/kafka: for tests that must say exactly what no stock client would.

    with Connection(broker) as connection:
        answer = connection.call("Heartbeat", 4, group_id="g", member_id="m", generation_id=1)
        answer.error_code

Fields that are not given have their default, and fields that a version does not have are left out. Answers are objects with the
schema's fields; what a version does not have is not there. An answer that is shorter or longer than its schema says is an error.
"""

import functools
import itertools
import json
import os
import re
import struct
import types

from naru_process import read_frame

SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "schemas")
NUMBERS = {"int8": ">b", "int16": ">h", "uint16": ">H", "int32": ">i", "uint32": ">I", "int64": ">q", "float64": ">d", "bool": ">?"}
API_VERSIONS = 18  # its answers never have tags in their header, so that any client can read them


def snake_case(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


@functools.cache
def schema(name):
    for folder in ("kafka", "internal"):
        path = os.path.join(SCHEMAS, folder, f"{name}.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return json.load(file)
    raise KeyError(f"there is no schema {name}")


def within(version, versions):
    if versions in (None, "none"):
        return False
    low, _, high = versions.partition("-")
    if versions.endswith("+"):
        return version >= int(versions[:-1])
    return int(low) <= version <= int(high or low)


def may_be_null(field, kind, version):
    """Of a structure, which then has a byte in front; elements of an array never have."""
    return kind == field["type"] and within(version, field.get("nullableVersions"))


def varint(value):
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


class Writer:
    def __init__(self, description, version):
        self.version, self.flexible = version, within(version, description["flexibleVersions"])
        self.common = {each["name"]: each["fields"] for each in description.get("commonStructs", [])}
        self.data = bytearray()

    def fields(self, fields, values):
        unknown = set(values) - {snake_case(field["name"]) for field in fields}
        if unknown:
            raise KeyError(f"there is no field {unknown}")
        tagged = {}
        for field in fields:
            name = snake_case(field["name"])
            value = values[name] if name in values else self.default(field)
            if "taggedVersions" in field and within(self.version, field["taggedVersions"]):
                if name in values:
                    tagged[field["tag"]] = self.apart(field, value)
            elif within(self.version, field["versions"]):
                self.value(field, field["type"], value)
        if self.flexible:
            self.data += varint(len(tagged))
            for tag in sorted(tagged):
                self.data += varint(tag) + varint(len(tagged[tag])) + tagged[tag]

    def apart(self, field, value):
        whole, self.data = self.data, bytearray()
        self.value(field, field["type"], value)
        part, self.data = self.data, whole
        return bytes(part)

    def default(self, field):
        kind = field["type"]
        if "default" in field:
            return field["default"]
        if kind.startswith("[]"):
            return []
        return 0 if kind in NUMBERS else {"string": "", "bytes": b"", "uuid": bytes(16), "records": b""}.get(kind, {})

    def length(self, value, narrow):
        if self.flexible:
            self.data += varint(0 if value is None else len(value) + 1)
        else:
            self.data += struct.pack(">h" if narrow else ">i", -1 if value is None else len(value))

    def value(self, field, kind, value):
        if kind in NUMBERS:
            self.data += struct.pack(NUMBERS[kind], value)
        elif kind == "uuid":
            self.data += value
        elif kind in ("string", "bytes", "records"):
            value = value.encode() if isinstance(value, str) else value
            self.length(value, kind == "string")
            self.data += value or b""
        elif kind.startswith("[]"):
            self.length(value, False)
            for each in value or []:
                self.value(field, kind[2:], each)
        elif may_be_null(field, kind, self.version):
            self.data += struct.pack(">b", -1 if value is None else 1)
            if value is not None:
                self.fields(field.get("fields") or self.common[kind], value)
        else:
            self.fields(field.get("fields") or self.common[kind], value)


class Reader:
    def __init__(self, description, version, data):
        self.version, self.flexible = version, within(version, description["flexibleVersions"])
        self.common = {each["name"]: each["fields"] for each in description.get("commonStructs", [])}
        self.data, self.at = data, 0

    def take(self, count):
        if self.at + count > len(self.data):
            raise EOFError(f"the answer ends at {len(self.data)}, within a field")
        self.at += count
        return self.data[self.at - count:self.at]

    def number(self, form):
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def varint(self):
        value = 0
        for shift in itertools.count(0, 7):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value

    def fields(self, fields):
        found, tagged = {}, {}
        for field in fields:
            if "taggedVersions" in field and within(self.version, field["taggedVersions"]):
                tagged[field["tag"]] = field
            elif within(self.version, field["versions"]):
                found[snake_case(field["name"])] = self.value(field, field["type"])
        for _ in range(self.varint() if self.flexible else 0):
            tag, size = self.varint(), self.varint()
            end = self.at + size
            if field := tagged.get(tag):
                found[snake_case(field["name"])] = self.value(field, field["type"])
            self.at = end
        return types.SimpleNamespace(**found)

    def length(self, narrow):
        return self.varint() - 1 if self.flexible else self.number(">h" if narrow else ">i")

    def value(self, field, kind):
        if kind in NUMBERS:
            return self.number(NUMBERS[kind])
        if kind == "uuid":
            return self.take(16)
        if kind in ("string", "bytes", "records"):
            size = self.length(kind == "string")
            if size < 0:
                return None
            return self.take(size).decode() if kind == "string" else self.take(size)
        if kind.startswith("[]"):
            size = self.length(False)
            return None if size < 0 else [self.value(field, kind[2:]) for _ in range(size)]
        if may_be_null(field, kind, self.version) and self.number(">b") < 0:
            return None
        return self.fields(field.get("fields") or self.common[kind])


def plain(kind, version, values):
    """A message that stands alone, as those of the consumer protocol: its version, then its fields."""
    writer = Writer(schema(kind), version)
    writer.fields(schema(kind)["fields"], values)
    return struct.pack(">h", version) + bytes(writer.data)


def read_plain(kind, data):
    """A message that stands alone, as the keys and values of __consumer_offsets. Bytes that follow it are left alone."""
    (version,) = struct.unpack(">h", data[:2])
    description = schema(kind)
    return Reader(description, version, data[2:]).fields(description["fields"])


def versions_of(api):
    """All versions of an API, for a test that says something about each."""
    low, _, high = schema(f"{snake_case(api)}_request")["validVersions"].partition("-")
    return range(int(low), int(high or low) + 1)


class Connection:
    """One connection. call() waits for the answer; send() and receive() apart are for requests that wait."""

    def __init__(self, broker, client_id="raw"):
        self.sock = broker.connect()
        self.client_id = client_id
        self.correlations = itertools.count(1)
        self.expected = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, api, version, **values):
        description = schema(f"{snake_case(api)}_request")
        body = Writer(description, version)
        body.fields(description["fields"], values)
        correlation, client = next(self.correlations), self.client_id.encode()
        header = struct.pack(">hhih", description["apiKey"], version, correlation, len(client)) + client
        content = header + (b"\0" if body.flexible else b"") + bytes(body.data)
        self.sock.sendall(struct.pack(">i", len(content)) + content)
        self.expected.append((api, version, correlation))

    def receive(self):
        api, version, correlation = self.expected.pop(0)
        description = schema(f"{snake_case(api)}_response")
        reader = Reader(description, version, read_frame(self.sock))
        answered = reader.number(">i")
        if answered != correlation:
            raise RuntimeError(f"{api}: an answer to request {answered}, not to {correlation}")
        if reader.flexible and description["apiKey"] != API_VERSIONS:
            for _ in range(reader.varint()):
                reader.varint()
                reader.take(reader.varint())
        answer = reader.fields(description["fields"])
        if reader.at != len(reader.data):
            raise RuntimeError(f"{api} {version}: {len(reader.data) - reader.at} bytes more than its schema says")
        return answer

    def call(self, api, version, **values):
        self.send(api, version, **values)
        return self.receive()
