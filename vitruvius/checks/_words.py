"""What the user's own words say about a line."""

import linecache
import re

from vitruvius.checks import Event

TEST = re.compile(r"(?<![a-wz])test|valid|(?<![a-wz])val(?!ue)|held|(?<!ri)eval|unseen", re.IGNORECASE)
TRAIN = re.compile(r"train|fit", re.IGNORECASE)


def speaks_of_test(event: Event) -> bool:
    """Whether the line is about a test, or a call of its function, or the function if no call says otherwise."""
    file, _, line = event.where.rpartition(":")
    function = str(event["function"])
    calls = [text.replace(function, "") for text in linecache.getlines(file) if f"{function}(" in text]
    calls = [text for text in calls if not text.lstrip().startswith(("def ", "async def "))]
    if any(TEST.search(text) for text in (linecache.getline(file, int(line or 0)), *calls)):
        return True
    return bool(TEST.search(function)) and (not calls or not all(TRAIN.search(text) for text in calls))
