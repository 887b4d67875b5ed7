"""Kafka's configuration keys: that the list in src/configuration is the one that Kafka itself has.

    config_keys.py write

writes the list anew, for another version of Kafka. Kafka's jars are fetched by Maven; ConfigKeys.java asks their definitions.
"""

import os
import subprocess
import sys

import kafka_tools
import toolchain

HERE = os.path.dirname(os.path.abspath(__file__))
VERSION = "4.3.0"
LIST = os.path.abspath(os.path.join(HERE, "..", "..", "src", "configuration", "kafka_config_keys.tsv"))
HEADER = f"# The configuration keys of Apache Kafka {VERSION}: tests/interop/config_keys.py writes this list.\n" + "# " + "\t".join(
    ["of", "key", "type", "default", "change", "described", "falls back to"]) + "\n"


def kafkas_list():
    libraries = kafka_tools.fetch(VERSION)
    printed = subprocess.run(["java", "-cp", f"{libraries}/*", os.path.join(HERE, "config_keys", "ConfigKeys.java")], text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout
    return HEADER + printed


class Check:
    """The row of the list in the table of checks."""

    name, version = "config-keys", VERSION

    def missing(self):
        return toolchain.missing({"java": "Java (Debian: openjdk-17-jdk-headless)", "mvn": "Maven (Debian: maven)"})

    def run(self):
        wanted = kafkas_list()
        with open(LIST, encoding="utf-8") as file:
            present = file.read()
        assert present == wanted, f"{LIST} is not the list that Kafka {VERSION} has: config_keys.py write"
        return f"{wanted.count(chr(10)) - 2} keys"


if __name__ == "__main__":
    assert sys.argv[1:] == ["write"], __doc__
    with open(LIST, "w", encoding="utf-8") as output:
        output.write(kafkas_list())
