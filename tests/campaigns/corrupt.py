"""Damage every file of finished and of killed runs in many ways: each damage is named, or does no harm.

`list runs --verify` must name the damage of a finished run. A killed run may lose what its checkpoints do not
need: what is not named there is refused by `--resume`, or the run ends as if nothing had happened.
"""

import os
import random
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.campaigns import Tally, killing_rank
from tests.campaigns.crash_points import prepare
from tests.searching import killing as killing_search
from tests.searching.conftest import SPACE, TOY
from tests.verbs import killing, killing_pretrain
from vitruvius.core import files, run_list
from vitruvius.core.errors import VitruviusError

FULL, SMALL = 3000, 60
NOT_READ = (".lock", ".holder")
"""Files without content that matters: they are made anew under the lock."""
SPARSE = 2**29
REFUSED, FAILED = 3, 4


class Killed(NamedTuple):
    """A run that was killed: how it goes on, and what identifies its end."""

    once: Callable[[Path], None]
    fingerprint: Callable[[Path], str]
    undisturbed: Path
    """The folder of runs in which it ended without being killed."""


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
        _damage_killed(tally, Path(place), root, rounds, source)
    return tally


def _damage_killed(tally: Tally, place: Path, root: Path, rounds: int, source: random.Random) -> None:
    """Damage runs that were killed, as often in all as finished ones; then replace each file in each way."""
    for verb, killed in _ways(place, root).items():
        runs = place / "killed" / verb / "runs"
        os.waitpid(killing.forked(lambda runs=runs, killed=killed: _until_killed(runs, killed)), 0)  # type: ignore[misc]
        found = sorted(path for path in runs.rglob("*") if path.is_file() and path.name not in NOT_READ)
        artefacts = [path for path in found if path.stat().st_size]
        for number in range(rounds // 3):
            damage = (flip, truncate, zero_tail)[number % 3]
            one = source.choice(artefacts)
            _damage(tally, one, lambda path, d=damage: d(path, source), f"killed {verb}", killed)  # type: ignore[misc]
        for path in found:
            for replace in (empty, folder, link, fifo, sparse, deep_json):
                _damage(tally, path, replace, f"killed {verb}, replaced", killed)


def _ways(place: Path, root: Path) -> dict[str, Killed]:
    """How a run of each verb goes on, and where nothing disturbed it."""
    pretrained, ranked = killing_pretrain.fingerprint, killing_rank.fingerprint
    return {
        "train": Killed(lambda runs: killing.once(runs, "off"), killing.fingerprint, root),
        "pretrain": Killed(lambda runs: killing_pretrain.once(runs, "off"), pretrained, root),
        "rank": Killed(lambda runs: killing_rank.once(place, runs, "here", 0), ranked, root),
    }


def _until_killed(runs: Path, killed: Killed) -> None:
    """Run until a record is kept and another would follow, as `kill -9` would leave it."""
    append = files.append_line
    kept: list[Any] = []

    def dying(path: Path, value: dict[str, Any]) -> bytes:
        if kept:
            os.kill(os.getpid(), signal.SIGKILL)
        kept.append(value)
        return append(path, value)

    files.append_line = dying
    killed.once(runs)


def _end(home: Path, killed: Killed) -> str:
    """Return how a damaged run ends that is continued in a copy: its fingerprint, or "refused"."""
    with tempfile.TemporaryDirectory() as place:
        runs = Path(place) / "runs"
        # Pipes and holes too, which shutil does not copy as they are.
        subprocess.run(["cp", "--archive", "--sparse=always", home.parent.parent, runs], check=True)
        child = os.fork()
        if not child:
            os._exit(_continued(runs, killed))
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return killed.fingerprint(runs) if status == 0 else "refused" if status == REFUSED else "failed"


def _continued(runs: Path, killed: Killed) -> int:
    try:
        killed.once(runs)
        return 0
    except VitruviusError:
        return REFUSED
    except BaseException:
        return FAILED


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


def _damage(
    tally: Tally, path: Path, damage: Callable[[Path], None], phase: str, killed: Killed | None = None
) -> None:
    """Damage one file, ask for the faults of its run, and put everything back."""
    before = path.read_bytes()
    damage(path)
    home = next(one for one in path.parents if one.parent.parent.name == "runs")
    try:
        if files.is_regular(path) and path.stat().st_size == len(before) and path.read_bytes() == before:
            tally.count(phase, "changed nothing")
        elif _faults(home):
            tally.count(phase, "detected")
        elif killed and (end := _end(home, killed)) in (killed.fingerprint(killed.undisturbed), "refused"):
            tally.count(phase, "refused by --resume" if end == "refused" else "harmless")
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
