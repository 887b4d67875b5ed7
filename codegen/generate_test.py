import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from cpp_types import absence, condition, negated
from generate import generate
from schema import SchemaError, Versions, parse_message

FIELDS = [
    {"name": "Id", "type": "int64", "versions": "0+", "default": -1, "cppType": "Offset"},
    {"name": "Note", "type": "string", "versions": "1+", "nullableVersions": "2+", "default": None},
    {"name": "Limit", "type": "int32", "versions": "0-1", "default": 2147483647, "ignorable": True},
    {"name": "Hint", "type": "Hint", "versions": "3+", "tag": 0, "taggedVersions": "3+", "fields": [
        {"name": "Operator", "type": "bool", "versions": "3+", "default": True}]},
    {"name": "Data", "type": "records", "versions": "0+", "nullableVersions": "0+"},
]


def toy(kind="Request", **more):
    source = {"name": f"Toy{kind}", "type": kind.lower(), "apiKey": 7, "validVersions": "0-5", "flexibleVersions": "3+",
              "fields": FIELDS, **more}
    return parse_message(f"toy_{kind.lower()}", source)


def files(*messages):
    return generate(list(messages), "naru::toy", "toy_records", "schemas/toy")


class ConditionTest(unittest.TestCase):
    def test_says_only_what_is_not_known_yet(self):
        known = Versions(2, 9)
        self.assertEqual(condition(Versions(0, 9), known), "true")
        self.assertEqual(condition(Versions(4, 32767), known), "version >= 4")
        self.assertEqual(condition(Versions(0, 4), known), "version <= 4")
        self.assertEqual(condition(Versions(4, 6), known), "version >= 4 && version <= 6")
        self.assertEqual(condition(Versions(4, 4), known), "version == 4")
        self.assertEqual(condition(Versions(1, 0), known), "false")

    def test_absence_is_the_opposite(self):
        known = Versions(2, 9)
        for versions in (Versions(0, 9), Versions(4, 32767), Versions(0, 4), Versions(4, 6), Versions(4, 4)):
            for version in range(2, 10):
                present = condition(versions, known).replace("&&", "and").replace("true", "True")
                absent = absence(versions, known).replace("||", "or").replace("false", "False")
                self.assertNotEqual(eval(present, {"version": version}), eval(absent, {"version": version}))

    def test_negation(self):
        self.assertEqual(negated("in.x.empty()"), "!in.x.empty()")
        self.assertEqual(negated("!in.x"), "in.x")
        self.assertEqual(negated("in.x == 3"), "in.x != 3")
        self.assertEqual(negated("(in.x && in.x->empty())"), "!(in.x && in.x->empty())")


class HeaderTest(unittest.TestCase):
    def test_members_have_their_types_and_defaults(self):
        header = files(toy(), toy("Response"))["toy_request.h"]
        for line in ("Offset id{-1};", "std::optional<std::string_view> note;", "int32_t limit = INT32_MAX;",
                     "bool operator_ = true;", "Hint hint;", "std::optional<BytesView> data{std::in_place};",
                     "static constexpr kafka::ApiKey kApiKey = kafka::ApiKey::toy;",
                     "static constexpr int16_t kFirstFlexibleVersion = 3;"):
            self.assertIn(line, header)

    def test_responses_own_their_memory(self):
        header = files(toy(), toy("Response"))["toy_response.h"]
        self.assertIn("std::optional<std::string> note;", header)
        self.assertIn("kafka::Records data;", header)


class SourceTest(unittest.TestCase):
    def setUp(self):
        self.source = files(toy(), toy("Response"))["toy_request.cc"]

    def test_reads_and_writes_only_what_the_version_has(self):
        self.assertIn("reader.read<int64_t>(out.id);", self.source)
        self.assertIn("if (version >= 1) reader.read_nullable_string(out.note, form, version >= 2);", self.source)
        self.assertIn("if (version <= 1) sink.template write<int32_t>(in.limit);", self.source)

    def test_fails_rather_than_lose_something_unless_it_is_ignorable(self):
        self.assertIn("if ((version < 1) && in.note.has_value()) sink.fail(", self.source)
        self.assertIn("if ((version < 3) && !is_default(in.hint)) sink.fail(", self.source)
        self.assertNotIn("in.limit != 0) sink.fail(", self.source)

    def test_writes_tagged_fields_that_are_not_default(self):
        self.assertIn("const bool has_tag_0 = !is_default(in.hint);", self.source)


class FolderTest(unittest.TestCase):
    def test_request_and_response_belong_together(self):
        with self.assertRaisesRegex(SchemaError, "ToyRequest has no response"):
            files(toy())
        with self.assertRaisesRegex(SchemaError, "ToyResponse has no request"):
            files(toy("Response"))
        with self.assertRaisesRegex(SchemaError, "differ in their versions"):
            files(toy(), toy("Response", validVersions="0-6"))

    def test_api_rows_say_what_is_special(self):
        rows = files(toy(advertisedMinVersion=0), toy("Response", headerVersion=0))["api_rows.h"]
        self.assertIn("toy = 7,", rows)
        self.assertIn(".flexible_response_header = false,", rows)

    def test_fields_are_visited_under_their_names_in_the_versions_that_have_them(self):
        fields = files(toy(), toy("Response"))["message_fields.h"]
        for line in ('visitor.field("ToyRequest", "id", in.id, false);',
                     'if (version >= 1) visitor.field("ToyRequest", "note", in.note, version >= 2);',
                     'visitor.field("Hint", "operator", in.operator_, false);'):
            self.assertIn(line, fields)

    def test_stored_values_have_no_api(self):
        value = parse_message("toy_value", {"name": "ToyValue", "type": "data", "validVersions": "0",
                                            "flexibleVersions": "none", "fields": []})
        generated = files(value)
        self.assertNotIn("api_rows.h", generated)
        self.assertIn("kFirstFlexibleVersion = kafka::kNeverFlexible;", generated["toy_value.h"])


class CommandLineTest(unittest.TestCase):
    def run_generator(self, folder):
        script = Path(__file__).parent / "generate.py"
        return subprocess.run([sys.executable, script, "--schemas", folder, "--origin", "schemas/toy", "--namespace", "naru::toy",
                               "--prefix", "toy_records", "--output", folder / "out"], capture_output=True, text=True)

    def test_unchanged_files_keep_their_time_and_mistakes_name_the_file(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            schema = folder / "toy_value.json"
            schema.write_text('{"name": "ToyValue", "type": "data", "validVersions": "0", "flexibleVersions": "none", '
                              '"fields": []}')
            self.assertEqual(self.run_generator(folder).returncode, 0)
            header = folder / "out/toy_records/toy_value.h"
            before = header.stat().st_mtime_ns
            self.assertEqual(self.run_generator(folder).returncode, 0)
            self.assertEqual(header.stat().st_mtime_ns, before)

            schema.write_text("{")
            failed = self.run_generator(folder)
            self.assertEqual(failed.returncode, 1)
            self.assertIn("schemas/toy: toy_value.json: ", failed.stderr)


if __name__ == "__main__":
    unittest.main()
