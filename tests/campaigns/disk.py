"""Let every disk operation of a training fail (full, broken, forbidden): a sentence, and nothing is lost."""

import errno
import os
import tempfile
from pathlib import Path

from tests.campaigns import Tally
from tests.campaigns.crash_points import chosen, prepare
from tests.campaigns.faulty_disk import FaultyDisk, install
from tests.verbs import killing
from vitruvius.core import files
from vitruvius.core.errors import VitruviusError

FULL, SMALL = 10_000, 12
"""Rounds beyond the number of operations times errors are not made."""
ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES)
SENTENCE, TRACEBACK = 3, 4


def run(rounds: int, first: int = 0) -> Tally:
    """Fail at so many of all operations, each with each error; then go on on a sound disk."""
    tally = Tally(planted="a writer that empties the file before it writes")
    whole, operations = prepare()
    points = [(number, error) for number in range(1, len(operations) + 1) for error in ERRORS]
    for number, error in chosen(points, rounds, first):
        phase = f"{operations[number - 1]}, {errno.errorcode[error]}"
        status, end = failed(FaultyDisk(number, error=error))
        if status != SENTENCE and end == whole:
            tally.fail(phase, "traceback", f"operation {number}: not a sentence")
        elif end != whole:
            tally.fail(phase, "lost", f"operation {number}: {end[:80]}")
        else:
            tally.count(phase, "a sentence, then the same end")
    for number in range(1, len(operations) + 1, 4):
        if failed(FaultyDisk(number, error=errno.ENOSPC), in_place=True)[1] != whole:
            tally.is_caught = True
            break
    return tally


def failed(disk: FaultyDisk, in_place: bool = False) -> tuple[int, str]:
    """Return how a training on this disk ended, and its end after a resume on a sound one."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        child = os.fork()
        if not child:
            os._exit(_work(root, disk, in_place))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if os.waitpid(killing.forked(lambda: killing.once(root, "off")), 0)[1] != 0:
            return status, "the resumed training failed"
        return status, killing.fingerprint(root)


def _work(root: Path, disk: FaultyDisk, in_place: bool) -> int:
    if in_place:
        write = files.write

        def emptied(path: Path, content: bytes | str) -> None:
            path.write_bytes(b"")
            write(path, content)

        files.write = emptied
    install(disk)
    try:
        killing.once(root, "off")
        return 0
    except VitruviusError:
        return SENTENCE
    except BaseException:
        return TRACEBACK
