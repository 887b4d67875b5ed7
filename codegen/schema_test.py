import unittest

from schema import SchemaError, Versions, parse_message, snake_case


def toy(fields, **more):
    return {"name": "ToyRequest", "type": "request", "apiKey": 7, "validVersions": "0-5", "flexibleVersions": "3+",
            "fields": fields, **more}


def parse(fields, **more):
    return parse_message("toy_request", toy(fields, **more))


class VersionsTest(unittest.TestCase):
    def test_ranges_are_inclusive(self):
        self.assertEqual(Versions.parse("3"), Versions(3, 3))
        self.assertEqual(Versions.parse("3-7"), Versions(3, 7))
        self.assertIn(32767, Versions.parse("3+"))
        self.assertTrue(Versions.parse("none").empty)

    def test_anything_else_is_refused(self):
        for text in ("", "3-", "-3", "7-3", "3,4", "all"):
            with self.assertRaises(SchemaError):
                Versions.parse(text)


class NamesTest(unittest.TestCase):
    def test_snake_case(self):
        self.assertEqual(snake_case("ThrottleTimeMs"), "throttle_time_ms")
        self.assertEqual(snake_case("ApiVersionsRequest"), "api_versions_request")


class ParseTest(unittest.TestCase):
    def assert_refused(self, reason, fields, **more):
        with self.assertRaisesRegex(SchemaError, reason):
            parse(fields, **more)

    def test_versions_are_clipped_to_those_that_can_occur(self):
        message = parse([{"name": "Outer", "type": "Outer", "versions": "2+", "fields": [
            {"name": "Inner", "type": "string", "versions": "0+", "nullableVersions": "0+"}]}])
        outer = message.structs[0]
        self.assertEqual(outer.versions, Versions(2, 5))
        self.assertEqual(outer.fields[0].versions, Versions(2, 5))
        self.assertEqual(outer.fields[0].nullable, Versions(2, 5))

    def test_contained_structures_come_first(self):
        message = parse([{"name": "A", "type": "[]A", "versions": "0+", "fields": [
            {"name": "B", "type": "B", "versions": "0+", "fields": [
                {"name": "X", "type": "int8", "versions": "0+"}]}]}])
        self.assertEqual([struct.name for struct in message.structs], ["B", "A"])

    def test_common_structures_are_shared(self):
        message = parse([{"name": "First", "type": "Pair", "versions": "0+"},
                         {"name": "Others", "type": "[]Pair", "versions": "4+"}],
                        commonStructs=[{"name": "Pair", "fields": [{"name": "X", "type": "int8", "versions": "0+"}]}])
        self.assertEqual(len(message.structs), 1)
        self.assertIs(message.root.fields[0].struct, message.root.fields[1].struct)
        self.assertEqual(message.structs[0].versions, Versions(0, 5))

    def test_nesting_is_bounded(self):
        self.assert_refused("contains itself", [{"name": "Root", "type": "Node", "versions": "0+"}], commonStructs=[
            {"name": "Node", "fields": [{"name": "Children", "type": "[]Node", "versions": "0+"}]}])

    def test_smallest_element_over_all_versions(self):
        message = parse([{"name": "Topics", "type": "[]Topic", "versions": "0+", "fields": [
            {"name": "Name", "type": "string", "versions": "0+"},
            {"name": "Partitions", "type": "[]int32", "versions": "0+"},
            {"name": "Note", "type": "string", "versions": "4+", "nullableVersions": "4+", "tag": 0,
             "taggedVersions": "4+"}]}])
        topics = message.root.fields[0]
        self.assertEqual(message.min_element_size(topics), 3)  # flexible: two lengths and the tag buffer
        self.assertEqual(message.min_element_size(topics.struct.fields[1]), 4)

    def test_mistakes_are_named(self):
        field = {"name": "X", "type": "int32", "versions": "0+"}
        self.assert_refused("X: unknown key colour", [{**field, "colour": "red"}])
        self.assert_refused("X: versions is missing", [{"name": "X", "type": "int32"}])
        self.assert_refused("X: unknown type", [{**field, "type": "int33"}])
        self.assert_refused("X: structure Y is not defined", [{**field, "type": "Y"}])
        self.assert_refused("X is in no valid version", [{**field, "versions": "6+"}])
        self.assert_refused("a int32 cannot be null", [{**field, "nullableVersions": "0+"}])
        self.assert_refused("tag and taggedVersions go together", [{**field, "tag": 0}])
        self.assert_refused("not flexible", [{**field, "tag": 0, "taggedVersions": "0+"}])
        self.assert_refused("in some versions only", [{**field, "tag": 0, "taggedVersions": "4+"}])
        self.assert_refused("is no default", [{**field, "default": "1"}])
        self.assert_refused("null by default", [{**field, "default": None}])
        self.assert_refused("cppType is for integers", [{**field, "type": "string", "cppType": "Offset"}])
        self.assert_refused("has x twice", [field, field])
        self.assert_refused("two structures are called Y", [
            {"name": name, "type": "Y", "versions": "0+", "fields": [field]} for name in ("A", "B")])
        self.assert_refused("belongs into other_request.json", [], name="OtherRequest")
        self.assert_refused("finite", [], validVersions="0+")
        self.assert_refused("have an apiKey", [], type="data")


if __name__ == "__main__":
    unittest.main()
