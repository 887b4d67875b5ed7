"""Reads message schemas (schemas/*/*.json) into a checked model. codegen/README.md describes the format."""

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Optional

VERSION_MAX = 32767
MISSING = object()

FIXED_SIZES = {
    "bool": 1, "int8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "float64": 8, "uuid": 16,
}
INTEGERS = ("int8", "int16", "uint16", "int32", "uint32", "int64")
SIZED = ("string", "bytes", "records")
KINDS = ("request", "response", "header", "data")


class Keys(NamedTuple):
    required: set
    optional: set


MESSAGE_KEYS = Keys({"name", "type", "validVersions", "flexibleVersions", "fields"},
                    {"apiKey", "advertisedMinVersion", "betweenBrokers", "headerVersion", "about", "commonStructs"})
STRUCT_KEYS = Keys({"name", "fields"}, {"about"})
FIELD_KEYS = Keys({"name", "type", "versions"},
                  {"nullableVersions", "tag", "taggedVersions", "flexibleVersions", "default", "ignorable", "cppType",
                   "about", "fields"})


class SchemaError(Exception):
    pass


@dataclass(frozen=True)
class Versions:
    """An inclusive range of versions; empty when low > high."""
    low: int
    high: int

    @staticmethod
    def parse(text: str) -> "Versions":
        if text == "none":
            return NO_VERSIONS
        match = re.fullmatch(r"(\d+)(?:(\+)|-(\d+))?", text)
        if match is None:
            raise SchemaError(f'"{text}" is not a range of versions: write "3", "3+", "3-7" or "none"')
        low = int(match[1])
        high = VERSION_MAX if match[2] else int(match[3] or low)
        if high < low:
            raise SchemaError(f'"{text}" is an empty range of versions')
        return Versions(low, high)

    @property
    def empty(self) -> bool:
        return self.low > self.high

    def __contains__(self, version: int) -> bool:
        return self.low <= version <= self.high

    def intersect(self, other: "Versions") -> "Versions":
        return Versions(max(self.low, other.low), min(self.high, other.high))

    def covers(self, other: "Versions") -> bool:
        return other.empty or (self.low <= other.low and other.high <= self.high)

    def hull(self, other: "Versions") -> "Versions":
        if self.empty or other.empty:
            return other if self.empty else self
        return Versions(min(self.low, other.low), max(self.high, other.high))


NO_VERSIONS = Versions(1, 0)


@dataclass
class Field:
    name: str
    type: str  # of the elements, when it is an array
    is_array: bool
    versions: Versions
    nullable: Versions
    tag: Optional[int]
    default: Any  # MISSING: the type's zero value; None: null
    ignorable: bool
    cpp_type: Optional[str]
    always_fixed_form: bool
    struct: Optional["Struct"] = None

    @property
    def is_nullable(self) -> bool:
        return not self.nullable.empty


@dataclass
class Struct:
    name: str
    fields: list[Field]
    versions: Versions = NO_VERSIONS  # in which it can occur at all

    def untagged(self) -> list[Field]:
        return [f for f in self.fields if f.tag is None]

    def tagged(self) -> list[Field]:
        return sorted((f for f in self.fields if f.tag is not None), key=lambda f: f.tag)


@dataclass
class Message:
    stem: str  # the file's name without .json
    name: str
    kind: str
    api_key: Optional[int]
    versions: Versions
    flexible: Versions
    advertised_min_version: int
    between_brokers: bool
    header_version: Optional[int]
    root: Struct
    structs: list[Struct]  # without the root; whatever a struct contains comes before it

    def min_element_size(self, element: Field) -> int:
        """The smallest encoding of one element of an array in any version: at least 1, so that it can divide."""
        present = range(element.versions.low, element.versions.high + 1)
        return max(1, min(self._min_size(element, version) for version in present))

    def _min_size(self, f: Field, version: int) -> int:
        compact = version in self.flexible and not f.always_fixed_form
        if f.struct is not None:
            fields = sum(self._min_field_size(inner, version) for inner in f.struct.untagged() if version in inner.versions)
            return fields + (1 if version in self.flexible else 0)
        if f.type in SIZED:
            return 1 if compact else 2 if f.type == "string" else 4
        return FIXED_SIZES[f.type]

    def _min_field_size(self, f: Field, version: int) -> int:
        if f.is_array:
            return 1 if version in self.flexible else 4
        if f.struct is not None and f.is_nullable:
            return 1
        return self._min_size(f, version)


class _Parser:
    """Turns one file's JSON into a Message."""

    def __init__(self, stem: str, source: dict):
        self.stem = stem
        self.source = source
        self.common: dict[str, dict] = {}
        self.finished: dict[str, Struct] = {}  # in the order of dependency
        self.unfinished: list[str] = []

    def parse(self) -> Message:
        source = self.source
        check_keys(source, MESSAGE_KEYS, "the message")
        name, kind = source["name"], source["type"]
        if snake_case(name) != self.stem:
            raise SchemaError(f"{name} belongs into {snake_case(name)}.json")
        if kind not in KINDS:
            raise SchemaError(f'type "{kind}" is none of {", ".join(KINDS)}')
        if (kind in ("request", "response")) != ("apiKey" in source):
            raise SchemaError("requests and responses have an apiKey, others do not")
        self.versions = Versions.parse(source["validVersions"])
        if self.versions.empty or self.versions.high == VERSION_MAX:
            raise SchemaError("validVersions must be finite and not empty")
        self.flexible = Versions.parse(source["flexibleVersions"])
        if not self.flexible.empty and self.flexible.high != VERSION_MAX:
            raise SchemaError('flexibleVersions is "none" or open-ended')
        for common in source.get("commonStructs", []):
            check_keys(common, STRUCT_KEYS, "a common structure")
            if self.common.setdefault(common["name"], common) is not common:
                raise SchemaError(f'two common structures are called {common["name"]}')
        root = self._struct(name, source["fields"])
        structs = [s for s in self.finished.values() if s is not root]
        narrow_versions(root, structs, self.versions)
        return Message(self.stem, name, kind, source.get("apiKey"), self.versions, self.flexible,
                       source.get("advertisedMinVersion", self.versions.low), source.get("betweenBrokers", False),
                       source.get("headerVersion"), root, structs)

    def _struct(self, name: str, fields: list) -> Struct:
        if name in self.unfinished:
            raise SchemaError(f"{name} contains itself: nesting has to be bounded")
        if name in self.finished:
            raise SchemaError(f"two structures are called {name}")
        self.unfinished.append(name)
        struct = Struct(name, [self._field(f, f"{name}.{f.get('name')}") for f in fields])
        self.unfinished.pop()
        check_unique(name, [snake_case(f.name) for f in struct.fields])
        check_unique(name, [f.tag for f in struct.tagged()])
        self.finished[name] = struct
        return struct

    def _field(self, source: dict, path: str) -> Field:
        check_keys(source, FIELD_KEYS, path)
        is_array = source["type"].startswith("[]")
        parsed = Field(
            name=source["name"],
            type=source["type"].removeprefix("[]"),
            is_array=is_array,
            versions=self._clipped(source["versions"]),
            nullable=self._clipped(source.get("nullableVersions", "none")).intersect(Versions.parse(source["versions"])),
            tag=source.get("tag"),
            default=source.get("default", MISSING),
            ignorable=source.get("ignorable", False),
            cpp_type=source.get("cppType"),
            always_fixed_form=source.get("flexibleVersions") == "none",
        )
        if parsed.type not in FIXED_SIZES and parsed.type not in SIZED:
            parsed.struct = self._struct_of(parsed.type, source.get("fields"), path)
        elif "fields" in source:
            raise SchemaError(f"{path} is not a structure and has no fields")
        self._check_field(parsed, source, path)
        return parsed

    def _struct_of(self, name: str, fields: Optional[list], path: str) -> Struct:
        if not name[:1].isupper():
            raise SchemaError(f'{path}: unknown type "{name}"')
        if fields is not None:
            if name in self.common:
                raise SchemaError(f"{path} defines the common structure {name} again")
            return self._struct(name, fields)
        if name not in self.common:
            raise SchemaError(f"{path}: structure {name} is not defined")
        return self.finished.get(name) or self._struct(name, self.common[name]["fields"])

    def _clipped(self, text: str) -> Versions:
        return Versions.parse(text).intersect(self.versions)

    def _check_field(self, f: Field, source: dict, path: str) -> None:
        if f.versions.empty:
            raise SchemaError(f"{path} is in no valid version")
        if f.is_nullable and not f.is_array and f.type in FIXED_SIZES:
            raise SchemaError(f"{path}: a {f.type} cannot be null")
        if f.is_array and f.type in ("bool", "records"):
            raise SchemaError(f"{path}: arrays of {f.type} are not supported")
        if source.get("flexibleVersions", "none") != "none":
            raise SchemaError(f'{path}: the flexibleVersions of a field can only be "none"')
        if ("tag" in source) != ("taggedVersions" in source):
            raise SchemaError(f"{path}: tag and taggedVersions go together")
        if f.tag is not None and self._clipped(source["taggedVersions"]) != f.versions:
            raise SchemaError(f"{path} is tagged in some versions only")
        if f.tag is not None and not self.flexible.covers(f.versions):
            raise SchemaError(f"{path} is tagged in versions that are not flexible")
        if f.cpp_type is not None and f.type not in INTEGERS:
            raise SchemaError(f"{path}: cppType is for integers")
        self._check_default(f, path)

    def _check_default(self, f: Field, path: str) -> None:
        if f.default is MISSING:
            return
        if f.default is None:
            if not f.is_nullable:
                raise SchemaError(f"{path} is null by default but not nullable")
            return
        expected = {"bool": bool, "string": str, "float64": float}.get(f.type, int if f.type in INTEGERS else None)
        if f.is_array or expected is None or type(f.default) is not expected:
            raise SchemaError(f"{path}: {json.dumps(f.default)} is no default for its type")
        if f.cpp_type == "ErrorCode":
            raise SchemaError(f"{path}: an ErrorCode is NONE by default")


def narrow_versions(root: Struct, structs: list[Struct], versions: Versions) -> None:
    """Finds out where each structure can occur: a field needs no check that its structure has passed already."""
    root.versions = versions
    for struct in [root, *reversed(structs)]:
        for f in struct.fields:
            f.versions = f.versions.intersect(struct.versions)
            f.nullable = f.nullable.intersect(struct.versions)
            if f.versions.empty:
                raise SchemaError(f"{struct.name}.{f.name} is in no version of its structure")
            if f.struct is not None:
                f.struct.versions = f.struct.versions.hull(f.versions)


def check_keys(source: dict, keys: Keys, what: str) -> None:
    for key in sorted(set(source) - keys.required - keys.optional):
        raise SchemaError(f"{what}: unknown key {key}")
    for key in sorted(keys.required - set(source)):
        raise SchemaError(f"{what}: {key} is missing")


def check_unique(where: str, values: list) -> None:
    for value in values:
        if values.count(value) > 1:
            raise SchemaError(f"{where} has {value} twice")


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def parse_message(stem: str, source: dict) -> Message:
    try:
        return _Parser(stem, source).parse()
    except SchemaError as error:
        raise SchemaError(f"{stem}.json: {error}") from None


def load_folder(folder: Path) -> list[Message]:
    messages = []
    for path in sorted(folder.glob("*.json")):
        try:
            source = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise SchemaError(f"{path.name}: {error}") from None
        messages.append(parse_message(path.stem, source))
    return messages
