"""Writes the header and the source of one message."""

from cpp_types import (absence, condition, field_type, first_flexible, indent, initializer, is_default, is_spliceable,
                       member_name, negated, outer_name, qualified, when)
from schema import INTEGERS, SIZED, Field, Message, Struct, snake_case


def api_name(message: Message) -> str:
    return message.name.removesuffix("Request").removesuffix("Response")


def write_header(message: Message, namespace: str, origin: str) -> str:
    functions = [
        f"void encode(kafka::WireWriter& writer, const {message.name}& message, int16_t version);",
        f"void decode(kafka::WireReader& reader, {message.name}& message, int16_t version);",
        f"size_t encoded_size(const {message.name}& message, int16_t version);",
        f"std::string to_json(const {message.name}& message, int16_t version);",
    ]
    lines = [
        f"// Generated from {origin}: change that file instead.",
        "#pragma once",
        "",
        *[f"#include <{name}>" for name in
          ("cstddef", "cstdint", "optional", "string", "string_view", "utility", "vector")],
        "",
        *[f'#include "{name}"' for name in header_includes(message)],
        "",
        "namespace naru::kafka {",
        "class WireReader;",
        "class WireWriter;",
        "}  // namespace naru::kafka",
        "",
        f"namespace {namespace} {{",
        "",
        *[line for struct in [*message.structs, message.root] for line in [*struct_definition(message, struct), ""]],
        *functions,
        "",
        f"}}  // namespace {namespace}",
    ]
    return "\n".join(lines) + "\n"


def header_includes(message: Message) -> list[str]:
    includes = ["foundation/bytes.h", "foundation/error_code.h", "foundation/ids.h", "foundation/uuid.h"]
    if message.api_key is not None:
        includes.append("kafka_protocol/messages/api_rows.h")
    return includes + ["kafka_protocol/records.h", "kafka_protocol/wire_form.h"]


def struct_definition(message: Message, struct: Struct) -> list[str]:
    body = []
    if struct is message.root:
        body += constants(message) + [""]
        body += [f"using {inner.name} = {outer_name(message, inner)};" for inner in message.structs]
        body += [""] if message.structs else []
    body += [f"{field_type(message, f)} {member_name(f)}{initializer(message, f)};" for f in struct.fields]
    return [f"struct {outer_name(message, struct)} {{", *indent(body), "};"]


def constants(message: Message) -> list[str]:
    lines = [f'static constexpr std::string_view kName = "{message.name}";']
    if message.api_key is not None:
        lines.append(f"static constexpr kafka::ApiKey kApiKey = kafka::ApiKey::{snake_case(api_name(message))};")
    for name, value in (("Min", message.versions.low), ("Max", message.versions.high)):
        lines.append(f"static constexpr int16_t k{name}Version = {value};")
    lines.append(f"static constexpr int16_t kFirstFlexibleVersion = {first_flexible(message)};")
    return lines


def write_source(message: Message, namespace: str, header: str, origin: str) -> str:
    structs = [*message.structs, message.root]
    compared = structs_compared(message)
    lines = [
        f"// Generated from {origin}: change that file instead.",
        f'#include "{header}"',
        "",
        '#include "foundation/assert.h"',
        '#include "kafka_protocol/json_writer.h"',
        '#include "kafka_protocol/wire_reader.h"',
        '#include "kafka_protocol/wire_writer.h"',
        "",
        f"namespace {namespace} {{",
        "namespace {",
        "",
    ]
    if any(form_declaration(message, struct) for struct in structs):
        lines += ["using kafka::LengthForm;", ""]
    for struct in structs:
        if struct.name in compared:
            lines += [*default_function(message, struct), ""]
        lines += [*read_function(message, struct), "", *write_function(message, struct), ""]
        lines += [*show_function(message, struct), ""]
    lines += [*version_check(message), "", "}  // namespace", "", *public_functions(message), "",
              f"}}  // namespace {namespace}"]
    return "\n".join(lines) + "\n"


def structs_compared(message: Message) -> set[str]:
    """The structures that must be compared to their default, because they may be left out."""
    found: set[str] = set()

    def add(struct: Struct) -> None:
        found.add(struct.name)
        for f in struct.fields:
            if f.struct is not None and not f.is_array and f.default is not None:
                add(f.struct)

    for struct in [*message.structs, message.root]:
        for f in struct.fields:
            left_out = f.tag is not None or (f.versions != struct.versions and not f.ignorable)
            if f.struct is not None and not f.is_array and f.default is not None and left_out:
                add(f.struct)
    return found


def default_function(message: Message, struct: Struct) -> list[str]:
    conditions = [is_default(message, f, f"in.{member_name(f)}") for f in struct.fields] or ["true"]
    return [f"bool is_default([[maybe_unused]] const {qualified(message, struct)}& in) {{",
            *indent([f"return {' && '.join(conditions)};"]), "}"]


def form_of(f: Field) -> str:
    return "LengthForm::fixed" if f.always_fixed_form else "form"


def form_declaration(message: Message, struct: Struct) -> list[str]:
    if not any(f.is_array or f.type in SIZED for f in struct.fields):
        return []
    flexible = condition(message.flexible, struct.versions)
    value = {"true": "LengthForm::compact", "false": "LengthForm::fixed"}.get(
        flexible, f"{flexible} ? LengthForm::compact : LengthForm::fixed")
    return [f"[[maybe_unused]] const LengthForm form = {value};"]


def read_function(message: Message, struct: Struct) -> list[str]:
    body = form_declaration(message, struct)
    for f in struct.untagged():
        body.append(when(f.versions, struct.versions, read_statement(message, f, f"out.{member_name(f)}")))
    flexible = condition(message.flexible, struct.versions)
    if flexible != "false":
        prefix = "" if flexible == "true" else f"if ({flexible}) "
        body += read_tags(message, struct, prefix) if struct.tagged() else [f"{prefix}reader.skip_tag_buffer();"]
    return [f"void read_fields([[maybe_unused]] kafka::WireReader& reader, [[maybe_unused]] {qualified(message, struct)}& out,",
            "                 [[maybe_unused]] int16_t version) {", *indent(body), "}"]


def read_tags(message: Message, struct: Struct, prefix: str) -> list[str]:
    cases = []
    for f in struct.tagged():
        absent = absence(f.versions, struct.versions.intersect(message.flexible))
        cases.append(f"case {f.tag}:")
        cases += indent([f"if ({absent}) return false;"] if absent != "false" else [])
        cases += indent([read_statement(message, f, f"out.{member_name(f)}"), "return true;"])
    cases += ["default:", "  return false;"]
    return [f"{prefix}reader.read_tag_buffer([&](uint32_t tag) {{", *indent(["switch (tag) {", *indent(cases), "}"]), "});"]


def read_statement(message: Message, f: Field, target: str) -> str:
    nullable = condition(f.nullable, f.versions)
    if f.is_array:
        kind = f"nullable_array({target}, {form_of(f)}, {nullable}" if f.is_nullable else f"array({target}, {form_of(f)}"
        element = read_element(f, "element")
        return f"reader.read_{kind}, {message.min_element_size(f)}, [&](auto& element) {{ {element} }});"
    if is_spliceable(message, f):
        return f"reader.read_records({target}, {form_of(f)}, {nullable});"
    if f.is_nullable and f.struct is not None:
        return f"reader.read_nullable_struct({target}, {nullable}, [&](auto& value) {{ {read_element(f, 'value')} }});"
    if f.is_nullable:
        kind = "string" if f.type == "string" else "bytes"
        return f"reader.read_nullable_{kind}({target}, {form_of(f)}, {nullable});"
    return read_element(f, target)


def read_element(f: Field, target: str) -> str:
    if f.struct is not None:
        return f"read_fields(reader, {target}, version);"
    if f.type in SIZED:
        return f"reader.read_{'string' if f.type == 'string' else 'bytes'}({target}, {form_of(f)});"
    return f"reader.read<{f.type}_t>({target});" if f.type in INTEGERS else f"reader.read_{f.type}({target});"


def write_function(message: Message, struct: Struct) -> list[str]:
    body = form_declaration(message, struct)
    for f in struct.fields:
        value = f"in.{member_name(f)}"
        if f.tag is None:
            body.append(when(f.versions, struct.versions, write_statement(message, f, "sink", value)))
        if f.versions != struct.versions and not f.ignorable:
            sendable = f"({absence(f.versions, struct.versions)}) && {negated(is_default(message, f, value))}"
            body.append(f'if ({sendable}) sink.fail("{struct.name}.{member_name(f)} cannot be sent in this version");')
    flexible = condition(message.flexible, struct.versions)
    if flexible != "false":
        tags = write_tags(message, struct)
        body += guarded(flexible, tags)
    return ["template <class Sink>",
            f"void write_fields([[maybe_unused]] Sink& sink, [[maybe_unused]] const {qualified(message, struct)}& in,",
            "                  [[maybe_unused]] int16_t version) {", *indent(body), "}"]


def guarded(text: str, statements: list[str]) -> list[str]:
    if text == "true":
        return statements
    if len(statements) == 1:
        return [f"if ({text}) {statements[0]}"]
    return [f"if ({text}) {{", *indent(statements), "}"]


def write_tags(message: Message, struct: Struct) -> list[str]:
    tagged = struct.tagged()
    if not tagged:
        return ["sink.write_uvarint(0);"]
    lines = []
    for f in tagged:
        present = condition(f.versions, struct.versions.intersect(message.flexible))
        both = [present] if present != "true" else []
        both.append(negated(is_default(message, f, f"in.{member_name(f)}")))
        lines.append(f"const bool has_tag_{f.tag} = {' && '.join(both)};")
    lines.append(f"sink.write_uvarint(uint32_t{{0}} + {' + '.join(f'has_tag_{f.tag}' for f in tagged)});")
    for f in tagged:
        statement = write_statement(message, f, "tagged", f"in.{member_name(f)}")
        lines.append(f"if (has_tag_{f.tag}) sink.write_tagged({f.tag}, [&](auto& tagged) {{ {statement} }});")
    return lines


def write_statement(message: Message, f: Field, sink: str, value: str) -> str:
    nullable = condition(f.nullable, f.versions)
    if f.is_array:
        kind = f"nullable_array({value}, {form_of(f)}, {nullable}" if f.is_nullable else f"array({value}, {form_of(f)}"
        element = write_element(f, sink, "element")
        return f"{sink}.write_{kind}, [&](const auto& element) {{ {element} }});"
    if is_spliceable(message, f):
        return f"{sink}.write_records({value}, {form_of(f)}, {nullable});"
    if f.is_nullable and f.struct is not None:
        inner = write_element(f, sink, "value")
        return f"{sink}.write_nullable_struct({value}, {nullable}, [&](const auto& value) {{ {inner} }});"
    if f.is_nullable:
        kind = "string" if f.type == "string" else "bytes"
        return f"{sink}.write_nullable_{kind}({value}, {form_of(f)}, {nullable});"
    return write_element(f, sink, value)


def write_element(f: Field, sink: str, value: str) -> str:
    if f.struct is not None:
        return f"write_fields({sink}, {value}, version);"
    if f.type in SIZED:
        return f"{sink}.write_{'string' if f.type == 'string' else 'bytes'}({value}, {form_of(f)});"
    if f.type in INTEGERS:
        return f"{sink}.template write<{f.type}_t>({value});"
    return f"{sink}.write_{f.type}({value});"


def show_function(message: Message, struct: Struct) -> list[str]:
    members = []
    for f in struct.fields:
        show = ", [&](const auto& inner) { show_fields(json, inner, version); }" if f.struct is not None else ""
        member = f'json.member("{snake_case(f.name)}", in.{member_name(f)}{show});'
        members.append(when(f.versions, struct.versions, member))
    return [f"void show_fields(kafka::JsonWriter& json, [[maybe_unused]] const {qualified(message, struct)}& in,",
            "                 [[maybe_unused]] int16_t version) {",
            *indent(["json.object([&] {", *indent(members), "});"]), "}"]


def version_check(message: Message) -> list[str]:
    name = message.name
    return [
        f"void check_version(const {name}&, int16_t version) {{",
        f"  NARU_ASSERT({name}::kMinVersion <= version && version <= {name}::kMaxVersion,",
        f'              "{name} has no version {{}}", version);',
        "}",
    ]


def public_functions(message: Message) -> list[str]:
    name = message.name
    return [
        f"void encode(kafka::WireWriter& writer, const {name}& message, int16_t version) {{",
        *indent(["check_version(message, version);", "write_fields(writer, message, version);"]), "}", "",
        f"void decode(kafka::WireReader& reader, {name}& message, int16_t version) {{",
        *indent(["check_version(message, version);", f"message = {name}();", "read_fields(reader, message, version);"]), "}", "",
        f"size_t encoded_size(const {name}& message, int16_t version) {{",
        *indent(["check_version(message, version);", "kafka::WireSizer sizer;", "write_fields(sizer, message, version);",
                 "return sizer.size();"]), "}", "",
        f"std::string to_json(const {name}& message, int16_t version) {{",
        *indent(["kafka::JsonWriter json;", "show_fields(json, message, version);", "return json.take();"]), "}",
    ]
