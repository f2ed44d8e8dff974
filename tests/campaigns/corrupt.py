"""Damage every file of finished runs in many ways: `list runs --verify` names each damage."""

import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.campaigns import Tally, killing_rank
from tests.campaigns.crash_points import prepare
from tests.searching import killing as killing_search
from tests.searching.conftest import SPACE, TOY
from tests.verbs import killing, killing_pretrain
from vitruvius.core import files, run_list

FULL, SMALL = 3000, 60
NOT_READ = (".lock", ".holder")
"""Files without content that matters: they are made anew under the lock."""
SPARSE = 2**29


def run(rounds: int) -> Tally:
    """Flip, truncate and zero tails so many times in all, at random; then replace each file in each way."""
    tally = Tally(planted="a checksum over the first half of a file only")
    source = random.Random(0)
    with tempfile.TemporaryDirectory() as place:
        root = _runs(Path(place))
        found = sorted(path for path in root.rglob("*") if path.is_file() and path.name not in NOT_READ)
        artefacts = [path for path in found if path.stat().st_size]
        if faults := [run.faults for run in run_list.verified(root) if run.faults]:
            tally.fail("intact", "called damaged", str(faults[0]))
        for number in range(rounds):
            damage = (flip, truncate, zero_tail)[number % 3]
            _damage(tally, source.choice(artefacts), lambda path, d=damage: d(path, source), damage.__name__)  # type: ignore[misc]
        for path in found:
            for replace in (empty, folder, link, fifo, sparse, deep_json):
                _damage(tally, path, replace, f"replaced: {replace.__name__}")
        tally.is_caught = _is_planted_caught(root)
    return tally


def _runs(place: Path) -> Path:
    """Make a finished run of each verb that keeps checkpoints or scores."""
    prepare()
    (place / "toy.py").write_text(TOY)
    files.write_json(place / "space.json", SPACE)
    root = place / "runs"
    killing.once(root, "off")
    killing_pretrain.once(root, "off")
    killing_rank.once(place, root, "here", 0)
    killing_search.once(place, place / "search", "here", 0)
    shutil.move(place / "search" / "search", root / "search")
    return root


def flip(path: Path, source: random.Random) -> None:
    """Turn one bit over."""
    content = bytearray(path.read_bytes())
    content[source.randrange(len(content))] ^= 1 << source.randrange(8)
    path.write_bytes(content)


def truncate(path: Path, source: random.Random) -> None:
    """Cut the end off."""
    os.truncate(path, source.randrange(path.stat().st_size))


def zero_tail(path: Path, source: random.Random) -> None:
    """Set the end to zeros."""
    size = path.stat().st_size
    os.truncate(path, source.randrange(size))
    os.truncate(path, size)


def empty(path: Path) -> None:
    """Leave nothing of the content."""
    path.write_bytes(b"")


def folder(path: Path) -> None:
    """Put a folder in its place."""
    path.unlink()
    path.mkdir()


def link(path: Path) -> None:
    """Put a link to a file outside in its place."""
    path.unlink()
    path.symlink_to("/etc/hostname")


def fifo(path: Path) -> None:
    """Put a pipe in its place, which hangs whoever opens it."""
    path.unlink()
    os.mkfifo(path)


def sparse(path: Path) -> None:
    """Let it be huge without taking place on disk."""
    path.write_bytes(b"")
    os.truncate(path, SPARSE)


def deep_json(path: Path) -> None:
    """Fill it with JSON that is nested without end."""
    path.write_text("[" * 100_000)


def _damage(tally: Tally, path: Path, damage: Callable[[Path], None], phase: str) -> None:
    """Damage one file, ask for the faults of its run, and put everything back."""
    before = path.read_bytes()
    damage(path)
    home = next(one for one in path.parents if one.parent.parent.name == "runs")
    try:
        if files.is_regular(path) and path.stat().st_size == len(before) and path.read_bytes() == before:
            tally.count(phase, "changed nothing")
        elif _faults(home):
            tally.count(phase, "detected")
        else:
            tally.fail(phase, "missed", f"{path.relative_to(home.parent.parent)}")
    finally:
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        path.write_bytes(before)


def _faults(home: Path) -> tuple[str, ...]:
    run = run_list.read(home)
    return run_list.faults(run) if run else ("it has vanished",)


def _is_planted_caught(root: Path) -> bool:
    """Whether damage to the second half of weights passes where checksums stop at the first half."""
    original, tally = files.sha256, Tally()

    def half(path: Path, follow: bool = True) -> str:
        content = path.read_bytes()
        before = truth.get(path, content)
        return original(path) if content[: len(before) // 2] != before[: len(before) // 2] else known[path]

    paths = list(root.glob("train/*/model.safetensors"))
    truth = {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}
    known = {path: original(path) for path in truth}
    files.sha256 = half

    def last_byte(path: Path) -> None:
        content = path.read_bytes()
        path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))

    try:
        for path in paths:
            _damage(tally, path, last_byte, "planted")
    finally:
        files.sha256 = original
    return bool(tally.failures)
