"""What programs say of a broker that offers less than they count on."""

import collections
import re

# SecurityDisabledException is not among them: the answer of any broker without an authorizer.
ABSENT = ("UnsupportedVersionException", "UNSUPPORTED_VERSION")
RELEASE = re.compile(r"\bv(\d+)\.(\d+)")
SHOWN = 150


def of_absence(lines):
    """Those lines of a log that say that a broker lacks an API or a version of it, from there on: {text: times}"""
    found = ((line, [line.index(word) for word in ABSENT if word in line]) for line in lines)
    return collections.Counter(line[min(places):][:SHOWN] for line, places in found if places)


def require_release(guess, least):
    """`guess` names the release that a library takes the broker for, or two that it is between. None is older than `least`."""
    named = [tuple(map(int, release)) for release in RELEASE.findall(guess)]
    if not named:
        raise RuntimeError(f"the broker is taken for \"{guess}\", which names no release")
    if min(named) < least:
        raise RuntimeError(f"the broker is taken for \"{guess}\", which is older than {'.'.join(map(str, least))}")
