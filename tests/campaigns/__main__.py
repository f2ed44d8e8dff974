"""Run a campaign and print its counts: `python -m tests.campaigns kill --rounds 20`.

In pieces: `--rounds 1000`, then `--first 1000 --rounds 1000`, and so on; the counts add up.
"""

import argparse
import importlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.campaigns import CAMPAIGNS, Tally

MEMORY, NEEDED = "/dev/shm", 2**31
"""A file system in memory, and the free bytes of it that are enough for every campaign."""


def main() -> int:
    """Run the campaign that is named; the exit code is 1 if it failed or missed its planted fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaigns", description=__doc__)
    parser.add_argument("campaign", choices=CAMPAIGNS)
    parser.add_argument("--rounds", type=int, help="how often; default: the number before a release")
    parser.add_argument("--first", type=int, default=0, help="number of the first round, for a later piece")
    options = parser.parse_args()
    campaign = importlib.import_module(f"tests.campaigns.{options.campaign}")
    rounds = options.rounds or campaign.FULL
    began = time.monotonic()
    with _in_memory():
        tally: Tally = campaign.run(rounds, options.first)
    seconds = time.monotonic() - began
    print(f"{options.campaign}: {rounds:,} rounds from {options.first:,} in {seconds:,.0f} s")
    print("\n".join(tally.lines()))
    return 0 if tally.is_passed else 1


@contextmanager
def _in_memory() -> Iterator[None]:
    """Make temporary folders in memory: an fsync takes no time there, two thirds of a run on a disk.

    The files that a killed process leaves are the same, and what a loss of power leaves is simulated. What
    killed processes have not removed is removed at the end.
    """
    has_room = os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= NEEDED
    with tempfile.TemporaryDirectory(dir=MEMORY if has_room else None, ignore_cleanup_errors=True) as place:
        os.environ["TMPDIR"] = tempfile.tempdir = place  # for the programs that are started, too
        yield


if __name__ == "__main__":
    sys.exit(main())
