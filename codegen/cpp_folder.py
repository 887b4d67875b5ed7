"""Writes the files that cover a whole folder of schemas."""

from cpp_message import api_name
from cpp_types import condition, first_flexible, indent, member_name, qualified, when
from schema import Field, Message, SchemaError, Struct, snake_case


def write_all_messages(messages: list[Message], namespace: str, prefix: str, origin: str) -> str:
    lists = {"AllMessages": messages,
             "AllRequests": [m for m in messages if m.kind == "request"],
             "AllResponses": [m for m in messages if m.kind == "response"]}
    lines = [f"// Generated from {origin}.", "#pragma once", "",
             *[f'#include "{prefix}/{m.stem}.h"' for m in messages], "", f"namespace {namespace} {{", "",
             "// Lists of the message types, for whatever has to be done with each: AllRequests<std::tuple>."]
    for name, members in lists.items():
        if members:
            lines += ["template <template <class...> class List>", f"using {name} = List<{', '.join(m.name for m in members)}>;"]
    return "\n".join([*lines, "", f"}}  // namespace {namespace}"]) + "\n"


def write_api_rows(messages: list[Message], namespace: str, origin: str) -> str:
    requests = sorted((m for m in messages if m.kind == "request"), key=lambda m: m.api_key)
    responses = {m.api_key: m for m in messages if m.kind == "response"}
    keys, rows = [], []
    for request in requests:
        response = responses.pop(request.api_key, None)
        check_pair(request, response)
        keys.append(f"{snake_case(api_name(request))} = {request.api_key},")
        rows += ["ApiRow{", *indent([
            f".key = ApiKey::{snake_case(api_name(request))},",
            f'.name = "{api_name(request)}",',
            f".min_version = {request.versions.low},",
            f".min_advertised_version = {request.advertised_min_version},",
            f".max_version = {request.versions.high},",
            f".first_flexible_version = {first_flexible(request)},",
            f".flexible_response_header = {'false' if response.header_version == 0 else 'true'},",
            f".between_brokers = {'true' if request.between_brokers else 'false'},",
        ]), "},"]
    if responses:
        raise SchemaError(f"{min(responses.values(), key=lambda m: m.name).name} has no request")
    lines = [f"// Generated from {origin}.", "#pragma once", "", "#include <array>", "#include <cstdint>", "",
             '#include "kafka_protocol/api_row.h"', '#include "kafka_protocol/wire_form.h"', "",
             f"namespace {namespace} {{", "",
             "enum class ApiKey : int16_t {", *indent(keys), "};", "",
             "inline constexpr std::array kApiTable{", *indent(rows, 2), "};", "", f"}}  // namespace {namespace}"]
    return "\n".join(lines) + "\n"


def check_pair(request: Message, response: Message | None) -> None:
    if response is None:
        raise SchemaError(f"{request.name} has no response")
    if api_name(request) != api_name(response):
        raise SchemaError(f"{request.name} and {response.name} share an apiKey")
    if (request.versions, request.flexible) != (response.versions, response.flexible):
        raise SchemaError(f"{request.name} and {response.name} differ in their versions")


def write_random_messages(messages: list[Message], namespace: str, prefix: str, origin: str) -> str:
    lines = [f"// Generated from {origin}, for tests: random values and comparison of every message.", "#pragma once", "",
             '#include "kafka_protocol/random_values.h"', f'#include "{prefix}/all_messages.h"', "",
             f"namespace {namespace} {{", ""]
    for message in messages:
        for struct in [*message.structs, message.root]:
            lines += [*equality(message, struct), "", *randomizer(message, struct), ""]
    return "\n".join([*lines, f"}}  // namespace {namespace}"]) + "\n"


def write_message_fields(messages: list[Message], namespace: str, prefix: str, origin: str) -> str:
    lines = [f"// Generated from {origin}, for tests: the fields of every message by their names.", "#pragma once", "",
             f'#include "{prefix}/all_messages.h"', "", f"namespace {namespace} {{", "",
             "// Calls visitor.field(structure, name, value, nullable) for each field that the version has, in the order of the",
             "// schema. What is in arrays and structures is left to the visitor, which calls visit_fields with it.", ""]
    for message in messages:
        for struct in [*message.structs, message.root]:
            lines += [*field_visit(message, struct), ""]
    return "\n".join([*lines, f"}}  // namespace {namespace}"]) + "\n"


def field_visit(message: Message, struct: Struct) -> list[str]:
    body = [when(f.versions, struct.versions,
                 f'visitor.field("{struct.name}", "{snake_case(f.name)}", in.{member_name(f)}, {condition(f.nullable, f.versions)});')
            for f in struct.fields]
    return ["template <class Visitor>",
            f"void visit_fields([[maybe_unused]] Visitor& visitor, [[maybe_unused]] {qualified(message, struct)}& in,",
            "                  [[maybe_unused]] int16_t version) {", *indent(body), "}"]


def equality(message: Message, struct: Struct) -> list[str]:
    name = qualified(message, struct)
    parts = [f"kafka::same_value(a.{member_name(f)}, b.{member_name(f)})" for f in struct.fields] or ["true"]
    return [f"inline bool operator==([[maybe_unused]] const {name}& a, [[maybe_unused]] const {name}& b) {{",
            *indent([f"return {' && '.join(parts)};"]), "}"]


def randomizer(message: Message, struct: Struct) -> list[str]:
    body = [when(f.versions, struct.versions, random_statement(f)) for f in struct.fields]
    return [f"inline void randomize([[maybe_unused]] kafka::RandomValues& random, [[maybe_unused]] {qualified(message, struct)}& out,",
            "                      [[maybe_unused]] int16_t version) {", *indent(body), "}"]


def random_statement(f: Field) -> str:
    target = f"out.{member_name(f)}"
    if f.type == "records" and not f.is_array:
        return f"random.fill_records({target}, {condition(f.nullable, f.versions)});"
    if f.is_nullable:
        nullable = condition(f.nullable, f.versions)
        return f"random.fill_nullable({target}, {nullable}, [&](auto& value) {{ {random_value(f, 'value')} }});"
    return random_value(f, target)


def random_value(f: Field, target: str) -> str:
    if f.is_array:
        return f"random.fill_array({target}, [&](auto& element) {{ {random_element(f, 'element')} }});"
    return random_element(f, target)


def random_element(f: Field, target: str) -> str:
    return f"randomize(random, {target}, version);" if f.struct is not None else f"random.fill({target});"
