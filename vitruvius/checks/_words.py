"""What the user's own words say about a line."""

import linecache
import re

from vitruvius.checks import Event

TEST = re.compile(r"test|val|held|eval|unseen", re.IGNORECASE)


def speaks_of_test(event: Event) -> bool:
    """Whether the line, or the function it stands in, is about a test."""
    file, _, line = event.where.rpartition(":")
    return bool(TEST.search(str(event["function"])) or TEST.search(linecache.getline(file, int(line or 0))))
