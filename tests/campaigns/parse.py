"""Mutate the files that are read from strangers: each is read or refused with a sentence, soon and small.

Mutations keep most of a sound file: bits are turned over, stretches cut, repeated, zeroed or replaced.
"""

import io
import json
import random
import signal
import tempfile
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from safetensors.torch import save

from tests.campaigns import Tally
from vitruvius import lessons
from vitruvius.arch import spaces, tables
from vitruvius.core import files, integrity
from vitruvius.core.errors import UserError
from vitruvius.datasets import _idx, _images
from vitruvius.nn import layouts
from vitruvius.teaching import answers
from vitruvius.verbs.train import Config as Training

FULL, SMALL = 10_000, 40
SECONDS, BYTES = 5, 512 * 2**20
NASTY = (
    b"null",
    b"[]",
    b"{}",
    b"-1",
    b"1e999",
    b"NaN",
    b"9" * 400,
    b'"\\ud800"',
    b"[" * 3000,
    b"\x00",
    b"\xff\xfe",
)
Read = Callable[[Path], Any]


class TooSlow(Exception):
    """A parser took longer than it may."""


def run(rounds: int, first: int = 0) -> Tally:
    """Mutate a sound file of each parser so many times."""
    tally = Tally(planted="a parser that lets a KeyError out")
    with tempfile.TemporaryDirectory() as folder:
        for name, (file, content, read) in parsers().items():
            _mutate(tally, name, Path(folder) / file, content, read, range(first, first + rounds))
        planted = Tally()
        _mutate(planted, "planted", Path(folder) / "planted.json", b'{"width": 8}', _careless, range(40))
        tally.is_caught = bool(planted.failures)
    return tally


def parsers() -> dict[str, tuple[str, bytes, Read]]:
    """Return for each parser the name and content of a sound file, and how it is read."""
    table = json.dumps(
        [{"name": "a", "arch": {"patch": 4, "width": 8, "depth": 1}, "accuracy": 0.5}]
    ).encode()
    space = (spaces.FOLDER / f"{spaces.names()[0]}.json").read_bytes()
    question = lessons.question("attention", {}).model_dump_json().encode()
    config = json.dumps(Training().model_dump(mode="json")).encode()
    manifest = json.dumps({"files": {"a": "0" * 64}, "environment": {"threads": 1}}).encode()
    weights = save({"a": torch.arange(6.0).view(2, 3), "b": torch.zeros(4)})
    handed = b'{"student": "x", "variant": 1, "answers": {"attention": {"weights": [[0.5, "1/2"], [1, 0]]}}}'
    sheet = b'lesson,value,answer\n,student,x\nattention,"weights[1,1]",0.5\n'
    idx = bytes([0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 4]) + bytes(range(32))
    pictures = {f"{kind}": (f"x.{kind}", _picture(kind), _decode) for kind in ("png", "jpeg", "webp")}
    return {
        "idx": ("x-idx3-ubyte", idx, _idx.read),
        **pictures,
        "arch table": ("table.json", table, _table),
        "question": ("question.json", question, _question),
        "config": ("config.json", config, lambda path: files.read_as(path, Training)),
        "manifest": ("manifest.json", manifest, lambda path: integrity.read_manifest(path.parent)),
        "safetensors": ("x.safetensors", weights, layouts.read),
        "answers, JSON": ("answers.json", handed, answers.handed_in),
        "answers, CSV": ("answers.csv", sheet, answers.handed_in),
        "space": ("space.json", space, lambda path: spaces.get(str(path))),
    }


def _mutate(tally: Tally, name: str, path: Path, content: bytes, read: Read, rounds: range) -> None:
    before = _reset_peak()
    for number in rounds:
        path.write_bytes(mutated(content, random.Random(number)) if number else content)
        signal.signal(signal.SIGALRM, _ring)
        signal.alarm(SECONDS)
        try:
            read(path)
            tally.count(name, "read")
        except UserError as error:
            if number == 0:
                tally.fail(name, "sound but refused", str(error))
            tally.count(name, "refused")
        except TooSlow:
            tally.fail(name, "too slow", f"mutation {number}: more than {SECONDS} s")
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            what = f"mutation {number}: {type(error).__name__}: {error} in {where.filename}:{where.lineno}"
            tally.fail(name, "traceback", what)
        finally:
            signal.alarm(0)
    if _peak() - before > BYTES:
        tally.fail(name, "too much memory", f"the process grew by {_peak() - before:,} bytes")


def mutated(content: bytes, source: random.Random) -> bytes:
    """Return the content with one to four mutations."""
    for _ in range(source.randrange(1, 5)):
        begin = source.randrange(len(content) + 1)
        end = min(len(content), begin + source.choice((1, 2, 8, 64)))
        middle = content[begin:end]
        new = source.choice(
            (
                b"",
                middle * 2,
                bytes(len(middle)),
                bytes(byte ^ (1 << source.randrange(8)) for byte in middle),
                source.randbytes(len(middle)),
                source.choice(NASTY),
            )
        )
        content = content[:begin] + new + content[end:]
    return content


def _table(path: Path) -> None:
    for column in tables.columns(path):
        tables.accuracies(path, column)
    tables.networks(path)


def _question(path: Path) -> None:
    lessons.question("attention", answers.read(str(path)))


def _decode(path: Path) -> None:
    _images.decode(_images.read(path), 8)


def _careless(path: Path) -> Any:
    return files.read_object(path)["width"]


def _picture(kind: str) -> bytes:
    pixels = np.arange(16 * 16 * 3, dtype=np.uint8).reshape(16, 16, 3)
    content = io.BytesIO()
    Image.fromarray(pixels).save(content, kind)
    return content.getvalue()


def _ring(number: int, frame: Any) -> None:
    raise TooSlow


def _reset_peak() -> int:
    """Let the largest memory be counted anew, so that one parser does not hide behind another; return it."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024
