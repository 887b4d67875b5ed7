"""How the types, defaults and version ranges of a schema are written in C++."""

from schema import INTEGERS, MISSING, VERSION_MAX, Field, Message, Struct, Versions, snake_case

SCALARS = {"bool": "bool", "float64": "double", "uuid": "Uuid", **{name: f"{name}_t" for name in INTEGERS}}
EXTREMES = {-2**31: "INT32_MIN", 2**31 - 1: "INT32_MAX", -2**63: "INT64_MIN", 2**63 - 1: "INT64_MAX"}
KEYWORDS = {"auto", "class", "default", "delete", "explicit", "export", "namespace", "new", "operator", "private",
            "protected", "public", "register", "struct", "switch", "template", "this", "typename", "union", "using"}


def member_name(f: Field) -> str:
    name = snake_case(f.name)
    return name + "_" if name in KEYWORDS else name


def qualified(message: Message, struct: Struct) -> str:
    return message.name if struct is message.root else f"{message.name}::{struct.name}"


def owns_memory(message: Message) -> bool:
    """What we read from a client points into its frame; what we send or store is ours."""
    return message.kind not in ("request", "header")


def is_spliceable(message: Message, f: Field) -> bool:
    return f.type == "records" and message.kind == "response"


def outer_name(message: Message, struct: Struct) -> str:
    """A structure inside of a message is defined before it, under a longer name, and has its short name as an alias.

    If it were nested, std::optional of it would be broken: within the enclosing class it cannot be constructed yet.
    """
    return message.name if struct is message.root else f"{message.name}_{struct.name}"


def element_type(message: Message, f: Field) -> str:
    if f.struct is not None:
        return outer_name(message, f.struct)
    if is_spliceable(message, f):
        return "kafka::Records"
    if f.type == "string":
        return "std::string" if owns_memory(message) else "std::string_view"
    if f.type in ("bytes", "records"):
        return "Bytes" if owns_memory(message) else "BytesView"
    return f.cpp_type or SCALARS[f.type]


def field_type(message: Message, f: Field) -> str:
    text = element_type(message, f)
    if f.is_array:
        text = f"std::vector<{text}>"
    # Records have a null of their own.
    return f"std::optional<{text}>" if f.is_nullable and not is_spliceable(message, f) else text


def literal(f: Field) -> str:
    if f.type == "bool":
        return "true" if f.default is True else "false"
    if f.type == "string":
        escaped = "" if f.default is MISSING else f.default.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    value = 0 if f.default is MISSING else f.default
    return EXTREMES.get(value, str(value))


def initializer(message: Message, f: Field) -> str:
    """What follows the member's name in its declaration."""
    if is_spliceable(message, f):
        return " = kafka::Records::null()" if f.default is None else ""
    if f.default is None:
        return ""
    if f.is_nullable:
        return f" = {literal(f)}" if f.type == "string" and not f.is_array else "{std::in_place}"
    if f.is_array or f.struct is not None or f.type in ("bytes", "records", "uuid"):
        return ""
    if f.cpp_type == "ErrorCode":
        return " = ErrorCode::none"
    if f.cpp_type is not None:
        return f"{{{literal(f)}}}"
    return "" if f.type == "string" and literal(f) == '""' else f" = {literal(f)}"


def is_default(message: Message, f: Field, value: str) -> str:
    """A C++ condition: the value is the field's default."""
    if is_spliceable(message, f):
        return f"{value}.is_null()" if f.default is None else f"(!{value}.is_null() && {value}.empty())"
    if f.default is None:
        return f"!{value}.has_value()"
    if f.is_nullable:
        inner = f"is_default(*{value})" if f.struct is not None and not f.is_array else f"{value}->empty()"
        if f.type == "string" and not f.is_array and literal(f) != '""':
            inner = f"*{value} == {literal(f)}"
        return f"({value} && {inner})"
    if f.is_array or f.type in ("bytes", "records") or (f.type == "string" and literal(f) == '""'):
        return f"{value}.empty()"
    if f.struct is not None:
        return f"is_default({value})"
    if f.type == "uuid":
        return f"{value}.is_zero()"
    if f.type == "bool":
        return value if literal(f) == "true" else f"!{value}"
    if f.cpp_type == "ErrorCode":
        return f"{value} == ErrorCode::none"
    return f"{value} == {f.cpp_type}{{{literal(f)}}}" if f.cpp_type else f"{value} == {literal(f)}"


def condition(versions: Versions, within: Versions) -> str:
    """A C++ condition on `version` that is already known to be `within`; "true" when it always holds."""
    low, high = versions.low > within.low, versions.high < within.high
    if versions.intersect(within).empty:
        return "false"
    if low and high:
        same = versions.low == versions.high
        return f"version == {versions.low}" if same else f"version >= {versions.low} && version <= {versions.high}"
    return f"version >= {versions.low}" if low else f"version <= {versions.high}" if high else "true"


def absence(versions: Versions, within: Versions) -> str:
    """The opposite of condition()."""
    parts = [f"version < {versions.low}"] if versions.low > within.low else []
    parts += [f"version > {versions.high}"] if versions.high < within.high else []
    return " || ".join(parts) or "false"


def negated(text: str) -> str:
    if " && " in text:
        return f"!{text}" if text.startswith("(") else f"!({text})"
    if " == " in text:
        return text.replace(" == ", " != ")
    return text.removeprefix("!") if text.startswith("!") else f"!{text}"


def when(versions: Versions, within: Versions, statement: str) -> str:
    text = condition(versions, within)
    return statement if text == "true" else f"if ({text}) {statement}"


def first_flexible(message: Message) -> str:
    return "kafka::kNeverFlexible" if message.flexible.empty else str(message.flexible.low)


def indent(lines: list[str], depth: int = 1) -> list[str]:
    return ["  " * depth + line if line else line for line in lines]
