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
import traceback
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
SHARE = 12
"""Of so many damages to finished runs, one is also done to a killed run of each verb, which takes longer."""
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
    records: int
    """How many it had kept when it was killed, those of its trainings included."""


def run(rounds: int, first: int = 0) -> Tally:
    """Flip, truncate and zero tails so many times in all, at random; the first piece replaces files too."""
    tally = Tally(planted="a checksum over the first half of a file only")
    with tempfile.TemporaryDirectory() as place:
        root, kept = _runs(Path(place))
        if faults := [run.faults for run in run_list.verified(root) if run.faults]:
            tally.fail("intact", "called damaged", str(faults[0]))
        _damage_all(tally, root, range(first, first + rounds), "finished", None)
        tally.is_caught = _is_planted_caught(root)
        for verb, killed in _ways(Path(place), root, kept).items():
            runs = Path(place) / "killed" / verb / "runs"
            os.waitpid(killing.forked(lambda runs=runs, killed=killed: _until_killed(runs, killed)), 0)  # type: ignore[misc]
            numbers = range(first // SHARE, (first + rounds) // SHARE)
            _damage_all(tally, runs, numbers, f"killed {verb}", killed)
    return tally


def _damage_all(tally: Tally, runs: Path, numbers: range, phase: str, killed: Killed | None) -> None:
    """Damage a file at random for each number; with the first number replace each file in each way too."""
    found = sorted(path for path in runs.rglob("*") if path.is_file() and path.name not in NOT_READ)
    artefacts = [path for path in found if path.stat().st_size]
    for number in numbers:
        source, damage = random.Random(number), (flip, truncate, zero_tail)[number % 3]
        kind = f"{phase}: {damage.__name__}"
        one = source.choice(artefacts)
        _damage(tally, one, lambda path, s=source, d=damage: d(path, s), kind, killed)  # type: ignore[misc]
    for path in found if numbers.start == 0 else []:
        for replace in (empty, folder, link, fifo, sparse, deep_json):
            _damage(tally, path, replace, f"{phase}, replaced: {replace.__name__}", killed)


def _ways(place: Path, root: Path, kept: dict[str, int]) -> dict[str, Killed]:
    """How a run of each verb goes on, where nothing disturbed it, and half of the records it kept there."""
    half = {verb: number // 2 for verb, number in kept.items()}
    pretrained, ranked = killing_pretrain.fingerprint, killing_rank.fingerprint
    searched = killing_search.fingerprint
    ways: dict[str, tuple[Callable[[Path], None], Callable[[Path], str], Path]] = {
        "train": (lambda runs: killing.once(runs, "off"), killing.fingerprint, root),
        "pretrain": (lambda runs: killing_pretrain.once(runs, "off"), pretrained, root),
        "rank": (lambda runs: killing_rank.once(place, runs, "here", 0), ranked, root),
        "search": (lambda runs: killing_search.once(place, runs, "here", 0), searched, place / "search"),
    }
    return {verb: Killed(*way, half[verb]) for verb, way in ways.items()}


def _until_killed(runs: Path, killed: Killed) -> None:
    """Run until some records are kept and another would follow, as `kill -9` would leave it."""
    append = files.append_line
    kept: list[Any] = []

    def dying(path: Path, value: dict[str, Any]) -> bytes:
        if len(kept) == killed.records:
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
        traceback.print_exc()
        return FAILED


def _runs(place: Path) -> tuple[Path, dict[str, int]]:
    """Make a finished run of each verb that keeps checkpoints or scores, and count the records it keeps."""
    prepare()
    (place / "toy.py").write_text(TOY)
    files.write_json(place / "space.json", SPACE)
    root = place / "runs"
    kept = {
        "train": _counted(lambda: killing.once(root, "off")),
        "pretrain": _counted(lambda: killing_pretrain.once(root, "off")),
        "rank": _counted(lambda: killing_rank.once(place, root, "here", 0)),
        "search": _counted(lambda: killing_search.once(place, place / "search", "here", 0)),
    }
    shutil.copytree(place / "search" / "search", root / "search")
    return root, kept


def _counted(work: Callable[[], None]) -> int:
    """Do some work and return how many records it has kept."""
    append, kept = files.append_line, list[bytes]()

    def counting(path: Path, value: dict[str, Any]) -> bytes:
        kept.append(append(path, value))
        return kept[-1]

    files.append_line = counting
    try:
        work()
    finally:
        files.append_line = append
    return len(kept)


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
