"""Whether names in the user's source code suggest that a line evaluates on test data."""

import linecache
import re

from vitruvius.checks import Forward

TEST = re.compile(r"(?<![a-wz])test|valid|(?<![a-wz])val(?!ue)|held|(?<!ri)eval|unseen", re.IGNORECASE)
TRAIN = re.compile(r"train|fit", re.IGNORECASE)


def speaks_of_test(event: Forward) -> bool:
    """Whether the line, a call of its function, or (if no call speaks of training) its name does so."""
    file, _, line = event.where.rpartition(":")
    function = event.function
    calls = [text.replace(function, "") for text in linecache.getlines(file) if f"{function}(" in text]
    calls = [text for text in calls if not text.lstrip().startswith(("def ", "async def "))]
    if any(TEST.search(text) for text in (linecache.getline(file, int(line or 0)), *calls)):
        return True
    return bool(TEST.search(function)) and (not calls or not all(TRAIN.search(text) for text in calls))
