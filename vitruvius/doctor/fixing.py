"""Mend a script by the patches of its proven bugs; every patch is proven by a run of the changed script."""

import os
import stat
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import SequenceMatcher
from pathlib import Path
from tokenize import detect_encoding
from typing import TypeAlias

from vitruvius.checks import Finding, shown_location
from vitruvius.core import files, records
from vitruvius.core.errors import UserError, WorkFailed
from vitruvius.core.patch import NoMatch, applied, diff
from vitruvius.doctor.results import Fixed, Refused, Result
from vitruvius.doctor.script import run_script

Diagnose: TypeAlias = Callable[[bytes], Result]
LARGEST = 16 * 2**20  # bytes of a script


def fixed(script: Path, run: Diagnose, bugs: Sequence[str] = ()) -> Iterator[records.Record]:
    """Yield notes, and at the end what was mended; the script's file is only read.

    `bugs` are the only ones to mend; without them all proven errors are. One patch at a time is applied to a
    copy, which then runs; a patch counts if its bug is gone, the script does not crash where it did not, and
    every new error has a patch of its own.
    """
    before = files.read(script, LARGEST, follow=True)
    source, result = before, run(before)
    first, mended, refused = result, list[Finding](), dict[tuple[str, str], str]()
    while (finding := _next(script, result, bugs, refused)) is not None:
        yield records.Note(text=f"{shown_location(finding.where)}: {finding.bug}: trying its patch")
        why, changed, again = _tried(source, finding, result, run)
        if why:
            refused[finding.bug, finding.where] = why
        else:
            mended.append(_placed(finding, before, source))
            source, result = changed, again
    left = [found for found in result.findings if found.severity == "error"]
    whys = [_why(script, found, bugs, refused) for found in left]
    lines = [_placed(found, before, source).where for found in left]
    yield Fixed(
        script=str(script),
        mended=tuple(mended),
        refused=tuple(map(_refused, left, lines, whys)),
        diff=diff(_text(before), _text(source), script.name) if mended else "",
        first=first,
        result=result,
        source=_text(source),
    )


def write(script: Path, before: bytes, after: bytes) -> None:
    """Replace the script in one step, with its permissions; refused if it was changed in the meantime."""
    path = script.resolve()
    if files.read(path, LARGEST) != before:
        raise UserError(f"{script} was changed while it ran: nothing was written")
    mode = stat.S_IMODE(path.stat().st_mode)
    files.write(path, after)
    os.chmod(path, mode)


def encoded(text: str, like: bytes) -> bytes:
    """A changed source in the encoding of the file that it comes from, with its byte order mark."""
    encoding, _ = detect_encoding(iter(like.splitlines(keepends=True)).__next__)
    return text.encode(encoding)


def runner(script: Path, arguments: Sequence[str], steps: int | None) -> Diagnose:
    """Run the script here, and each changed copy in a fresh Python as if it lay where the script does."""
    before = files.read(script, LARGEST, follow=True)

    def run(source: bytes) -> Result:
        if source == before:
            return run_script(str(script), arguments, steps, to_stderr=True, source=source)
        with tempfile.TemporaryDirectory(prefix="vitruvius-fix-") as folder:
            copy, out = Path(folder) / script.name, Path(folder) / "result.json"
            copy.write_bytes(source)
            words = [str(copy), str(out), str(steps or 0), str(script), *arguments]
            command = [sys.executable, "-m", "vitruvius.doctor.rerun", *words]
            # The user asks for this run of the user's own script; no shell reads its arguments.
            code = subprocess.run(command, stdout=2, check=False).returncode  # nosec B603 # as said above
            if not out.is_file():
                raise WorkFailed(f"{script}: the run under watch ended with {code} and left no report")
            return Result.model_validate_json(out.read_bytes())

    return run


def _next(
    script: Path, result: Result, bugs: Sequence[str], refused: dict[tuple[str, str], str]
) -> Finding | None:
    """The first finding whose patch may be tried."""
    for found in result.findings:
        wanted = found.bug in bugs if bugs else found.severity == "error"
        if wanted and (found.bug, found.where) not in refused and not _unpatchable(script, found):
            return found
    return None


def _unpatchable(script: Path, found: Finding) -> str:
    """Why a finding has no patch that can be applied to the script; empty if it has one."""
    if found.patch is None:
        return "no exact patch is known for this place"
    if Path(found.patch.file).resolve() != script.resolve():
        return f"its patch belongs into another file, {found.patch.file}"
    return "" if found.confidence == "exact" else "it is a suspicion, not proven"


def _why(script: Path, found: Finding, bugs: Sequence[str], refused: dict[tuple[str, str], str]) -> str:
    why = refused.get((found.bug, found.where)) or _unpatchable(script, found)
    return why or ("it was not named in --bug" if bugs and found.bug not in bugs else "it came with a patch")


def _refused(found: Finding, where: str, why: str) -> Refused:
    return Refused(bug=found.bug, where=where, why=why)


def _placed(found: Finding, before: bytes, now: bytes) -> Finding:
    """A finding in a changed copy at its line of the script; a new line keeps its number."""
    file, _, line = found.where.rpartition(":")
    old, new = (_text(source).splitlines() for source in (before, now))
    for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
        if line.isdigit() and block.b < int(line) <= block.b + block.size:
            return found.model_copy(update={"where": f"{file}:{int(line) - block.b + block.a}"})
    return found


def _tried(source: bytes, finding: Finding, result: Result, run: Diagnose) -> tuple[str, bytes, Result]:
    """Apply one patch and run: why it is refused (empty if it is not), the new source, its diagnosis."""
    assert finding.patch is not None
    try:
        changed = encoded(applied(_text(source), finding.patch.edits), source)
    except NoMatch as error:
        return f"the source has changed at {error}", source, result
    again = run(changed)
    counts = [Counter(found.bug for found in each.findings) for each in (result, again)]
    new = [found for found in again.findings if found.severity == "error" and not counts[0][found.bug]]
    why = ""
    if again.crash and not result.crash:
        why = f"with its patch the script crashes: {again.crash.error}"
    elif finding.bug not in again.checked or counts[1][finding.bug] >= counts[0][finding.bug]:
        why = "it is still there after its patch"
    elif any(found.patch is None for found in new):
        why = f"with its patch there is {next(f.bug for f in new if f.patch is None)} in its place"
    return why, changed, again


def _text(source: bytes) -> str:
    encoding, _ = detect_encoding(iter(source.splitlines(keepends=True)).__next__)
    return source.decode(encoding)
