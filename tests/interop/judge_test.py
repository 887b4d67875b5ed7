"""How answers are compared, and that the page shows the table of differences."""

import unittest

import judge
import judge_cases
import judge_differences


class CompareTest(unittest.TestCase):
    def test_equal_answers_have_no_differences(self):
        answer = {"error_code": 0, "topics": [{"name": "a", "partitions": [1, 2]}]}
        self.assertEqual(judge.compare(answer, dict(answer)), [])

    def test_a_difference_is_told_with_its_place(self):
        ours = {"topics": [{"name": "a", "error_code": 0}, {"name": "b", "error_code": 3}]}
        theirs = {"topics": [{"name": "b", "error_code": 0}, {"name": "a", "error_code": 0}]}
        self.assertEqual(judge.compare(ours, theirs), [("topics[b].error_code", 3, 0)])

    def test_elements_without_an_identity_are_compared_in_their_order(self):
        ours, theirs = {"results": [{"error_code": 1}, {"error_code": 2}]}, {"results": [{"error_code": 2}, {"error_code": 1}]}
        self.assertEqual([path for path, _, _ in judge.compare(ours, theirs)], ["results[0].error_code", "results[1].error_code"])

    def test_elements_of_one_name_are_told_apart_by_their_source(self):
        ours = [{"name": "a", "source": 1, "value": "x"}, {"name": "a", "source": 2, "value": "y"}]
        self.assertEqual(judge.compare({"synonyms": ours}, {"synonyms": [*reversed(ours)]}), [])

    def test_elements_with_an_empty_name_are_told_apart_by_what_they_have_besides(self):
        ours, theirs = ([{"resource_type": 4, "resource_name": "", "error_code": code}] for code in (0, 1))
        self.assertEqual(judge.compare({"results": ours}, {"results": theirs}), [("results[4/].error_code", 0, 1)])

    def test_a_missing_element_and_a_missing_field_are_differences(self):
        self.assertEqual(judge.compare({"topics": []}, {"topics": [{"name": "a", "id": 1}]}), [("topics[a]", "absent", "there")])
        self.assertEqual(judge.compare({}, {"error_code": 0}), [("error_code", "absent", 0)])
        self.assertEqual(judge.compare({"entries": None}, {"entries": []}), [("entries", None, "a list")])
        self.assertEqual(judge.compare({"batch": [1]}, {"batch": [1, 2]}), [("batch[1]", "absent", 2)])

    def test_a_number_is_not_a_truth(self):
        self.assertEqual(judge.compare({"read_only": 0}, {"read_only": False}), [("read_only", 0, False)])

    def test_a_difference_in_several_versions_is_one_line(self):
        problems = [("case", f"Produce v{version}, label", "error_code", 0, 1) for version in (3, 4, 5)]
        self.assertEqual(list(judge.in_words(problems)), ["case: Produce v3-5, label: error_code: Naru 0, Kafka 1"])

    def test_texts_may_have_other_words_but_have_to_be_there(self):
        self.assertEqual(judge.compare({"error_message": "no"}, {"error_message": "never"}), [])
        self.assertEqual(judge.compare({"error_message": None}, {"error_message": "never"}), [("error_message", None, "<text>")])

    def test_a_connection_that_is_closed_is_not_an_answer(self):
        self.assertNotEqual(judge.compare(judge.CLOSED, {"error_code": 0}), [])


class DifferencesTest(unittest.TestCase):
    def test_the_page_shows_the_table(self):
        with open(judge_differences.PAGE, encoding="utf-8") as file:
            page = file.read()
        self.assertIn(judge_differences.BEGIN, page)
        self.assertEqual(page, judge_differences.page_with_table(page), "run tests/interop/judge_differences.py --write")

    def test_each_row_is_of_a_case(self):
        names = {case.__name__ for group in judge_cases.GROUPS.values() for case in group}
        for difference in judge_differences.DIFFERENCES:
            for place in difference.places:
                self.assertTrue(place.startswith("^"), place)
                self.assertIn(place.removeprefix("^").partition(":")[0], names)


if __name__ == "__main__":
    unittest.main()
