#!/usr/bin/env python3
"""Generates C++ from a folder of message schemas. Run by the build (naru_codegen.cmake)."""

import argparse
import sys
from pathlib import Path

from cpp_folder import write_all_messages, write_api_rows, write_message_fields, write_random_messages
from cpp_message import write_header, write_source
from schema import Message, SchemaError, load_folder


def generate(messages: list[Message], namespace: str, prefix: str, origin: str) -> dict[str, str]:
    """The text of every file, by name."""
    files = {}
    for message in messages:
        source = f"{origin}/{message.stem}.json"
        files[f"{message.stem}.h"] = write_header(message, namespace, source)
        files[f"{message.stem}.cc"] = write_source(message, namespace, f"{prefix}/{message.stem}.h", source)
    files["all_messages.h"] = write_all_messages(messages, namespace, prefix, origin)
    files["random_messages.h"] = write_random_messages(messages, namespace, prefix, origin)
    files["message_fields.h"] = write_message_fields(messages, namespace, prefix, origin)
    if any(message.api_key is not None for message in messages):
        files["api_rows.h"] = write_api_rows(messages, namespace, origin)
    return files


def write_if_changed(path: Path, text: str) -> None:
    """Leaves the time of an unchanged file alone, so that changing one schema does not recompile all."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--schemas", type=Path, required=True, help="folder of *.json")
    arguments.add_argument("--origin", required=True, help="how comments name that folder")
    arguments.add_argument("--namespace", required=True)
    arguments.add_argument("--prefix", required=True, help="folder of the headers in #include lines")
    arguments.add_argument("--output", type=Path, required=True, help="folder that the prefix is relative to")
    options = arguments.parse_args()
    try:
        files = generate(load_folder(options.schemas), options.namespace, options.prefix, options.origin)
    except SchemaError as error:
        print(f"{options.origin}: {error}", file=sys.stderr)
        return 1
    folder = options.output / options.prefix
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        write_if_changed(folder / name, text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
