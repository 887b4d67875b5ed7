#!/usr/bin/python3
"""Where Naru answers otherwise than Apache Kafka, and why: the only table of it. docs/protocol.md shows it (judge_differences.py --write);
the judge demands that there are no others, and that each of these is found."""

import os
import sys
from dataclasses import dataclass

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "protocol.md")
BEGIN = "<!-- begin: differences; written by tests/interop/judge_differences.py --write -->\n"
END = "<!-- end: differences -->\n"


@dataclass(frozen=True)
class Difference:
    where: str  # a regular expression for "CASE: LABEL: FIELD"; begins with the name of the case
    api: str
    naru: str
    kafka: str
    reason: str


DIFFERENCES = [
    Difference(r"^delegation_tokens: .*: error_code$", "Create-, Renew-, Expire- and DescribeDelegationToken",
               "`DELEGATION_TOKEN_AUTH_DISABLED` (61)", "`DELEGATION_TOKEN_REQUEST_NOT_ALLOWED` (64)",
               "Kafka says that a token needs a listener that authenticates; here there are no tokens on any listener"),
    Difference(r"^quorum: .*, of the metadata: topics.*\.(high_watermark|log_end_offset|leader_epoch)$", "DescribeQuorum",
               "offsets: the number of metadata transactions; epoch: the controller's",
               "offsets: the number of records in the metadata log; epoch: that of Raft", "the metadata is not a log of records"),
    Difference(r"^quorum: .*, of the metadata: topics.*\.replica_directory_id$", "DescribeQuorum", "zero",
               "the id of the folder of the metadata log", "the metadata is not in a data folder"),
    Difference(r"^quorum: .*, of the metadata: nodes.*\.listeners", "DescribeQuorum", "the listener that the client used",
               "the listener of controllers", "a controller is reached where its broker is"),
    Difference(r"^features: UpdateFeatures v[01], .*: results\[.*\]\.error_message$", "UpdateFeatures 0-1", "empty", "the text NONE",
               "there is no error to tell of"),
    Difference(r"^unregistering_a_running_broker: .*: error_(code|message)$", "UnregisterBroker", "a running broker is refused: `INVALID_REQUEST`",
               "its registration is removed", "a mistyped number would take leaderships away from a broker that is in use"),
    Difference(r"^auto_created_topics: .*, a later answer: .*\.partitions\[[123]\]$", "Metadata", "a topic that is made so has 4 partitions",
               "it has 1", "`num.partitions` is 4 by default"),
    Difference(r"^features: .*, a level below, as an? (unsafe )?downgrade: ", "UpdateFeatures",
               "`INVALID_UPDATE_VERSION` (95)", "the level is lowered",
               "features are always on, at the level of the version that runs"),
]


def table():
    lines = ["| API | Naru | Apache Kafka 4.3.1 | why |", "| --- | --- | --- | --- |"]
    lines += [f"| {each.api} | {each.naru} | {each.kafka} | {each.reason} |" for each in DIFFERENCES]
    return "".join(line + "\n" for line in lines)


def page_with_table(page):
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


def main():
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    if sys.argv[1:] == ["--write"]:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write(page_with_table(page))
    elif page != page_with_table(page):
        sys.exit("docs/protocol.md has another table of differences: run tests/interop/judge_differences.py --write")


if __name__ == "__main__":
    main()
