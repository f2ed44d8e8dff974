"""Lose power before every write, fsync and rename of a training, resume, and compare its end to the bit."""

import os
import random
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import torch

from tests.campaigns import Tally
from tests.campaigns.faulty_disk import LOSSES, FaultyDisk, WithoutSync, install
from tests.verbs import killing
from vitruvius.core import files
from vitruvius.render import figures

T = TypeVar("T")
FULL, SMALL = 10_000, 12
"""Rounds beyond the number of crash points times losses are not made."""


def run(rounds: int, first: int = 0) -> Tally:
    """Crash at so many of all operations, each with each kind of loss, in a random order."""
    tally = Tally(planted="a writer that renames without fsync")
    whole, operations = prepare()
    points = [(number, loss) for number in range(1, len(operations) + 1) for loss in LOSSES]
    for number, loss in chosen(points, rounds, first):
        end = crashed(lambda number=number, loss=loss: FaultyDisk(number, loss))  # type: ignore[misc]
        phase = f"{operations[number - 1]}, {loss}"
        if end == whole:
            tally.count(phase, "recovered")
        else:
            tally.fail(phase, "lost", f"operation {number}: {end[:80]}")
    for number in range(1, len(operations) + 1, 3):
        end = crashed(lambda number=number: WithoutSync(number, "zeroed"))  # type: ignore[misc]
        if end != whole:
            tally.is_caught = True
            break
    return tally


def prepare() -> tuple[str, list[str]]:
    """Return the fingerprint of an undisturbed training and its disk operations."""
    torch.set_num_threads(1)
    figures.write_png = lambda figure, path: files.write(path, b"")
    figures.svg = lambda figure, prefix="": "<svg></svg>"
    disk = FaultyDisk()
    with tempfile.TemporaryDirectory() as folder:
        install(disk)
        try:
            killing.once(Path(folder), "off")
        finally:
            vars(files)["os"] = os
        return killing.fingerprint(Path(folder)), disk.operations


def chosen(points: list[T], rounds: int, first: int) -> list[T]:
    """Return so many points from the first of a piece on, in an order that is random and always the same."""
    return random.Random(0).sample(points, len(points))[first : first + rounds]


def crashed(disk: Callable[[], FaultyDisk]) -> str:
    """Return the end of a training that crashed on this disk and was resumed on a sound one."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)

        def dying() -> None:
            install(disk())
            killing.once(root, "off")

        os.waitpid(killing.forked(dying), 0)
        if os.waitpid(killing.forked(lambda: killing.once(root, "off")), 0)[1] != 0:
            return "the resumed training failed"
        return killing.fingerprint(root)
