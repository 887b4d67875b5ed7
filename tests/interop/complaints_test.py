"""Whether complaints are recognised. Needs no broker and no client."""

import unittest

from complaints import of_absence, require_release


class Absence(unittest.TestCase):
    def test_a_version_that_is_not_there_is_counted(self):
        line = "[main] ERROR x - org.apache.kafka.common.errors.UnsupportedVersionException: The node does not support LIST_OFFSETS"
        self.assertEqual(of_absence(["fine", line, line]),
                         {"UnsupportedVersionException: The node does not support LIST_OFFSETS": 2})

    def test_that_nothing_is_secured_is_no_complaint(self):
        self.assertEqual(of_absence(["org.apache.kafka.common.errors.SecurityDisabledException: No Authorizer is configured."]), {})


class Release(unittest.TestCase):
    def test_none_that_is_named_is_too_old(self):
        for guess in ("v4.0", "v0.11.0", "between v0.11.0 and v1.0", "at least v3.8"):
            require_release(guess, (0, 11))

    def test_an_older_one_or_none_is_refused(self):
        for guess in ("between v0.9.0 and v0.10.0", "between v0.10.2 and v1.0", "not even v0.8.0", "unknown custom version", ""):
            with self.assertRaises(RuntimeError, msg=guess):
                require_release(guess, (0, 11))


if __name__ == "__main__":
    unittest.main()
