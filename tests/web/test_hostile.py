"""Many at once, and the malicious: 1,000 predictions, 200 slow connections, endless bodies, Ctrl-C.

The server is a process of its own here, as it is for its users.
"""

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import numpy as np
import pytest
import torch

from benchmarks.under_attack import Target, answer
from tests.web import visitor
from tests.web.visitor import identity
from vitruvius.core import files
from vitruvius.training import predictor
from vitruvius.web.security import LARGEST_BODY

pytestmark = pytest.mark.slow
MANY = 1000
BODY = 5 * 2**30
PATIENCE = 120.0
"""Seconds after which a server that was told to end is taken for one that does not."""
HELD_MIB = 48
"""Memory that a server may hold after many predictions beside what it held after the first ones."""


@dataclass(frozen=True)
class Served(Target):
    """A server that runs, and a training run that it shows."""

    process: "subprocess.Popen[str]"
    folder: Path

    def held_mib(self) -> float:
        """The memory that the server holds."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def _interruptible() -> None:
    """Obey Ctrl-C: a shell that starts tests in the background lets its programs ignore it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    folder = visitor.training(tmp_path / "runs", "net")
    command = [sys.executable, "-m", "vitruvius", "serve", "--no-browser", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--runs", str(tmp_path / "runs")],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=_interruptible,
    )
    assert process.stdout is not None
    address = urlsplit(process.stdout.readline().strip())
    yield Served(int(address.port or 0), parse_qs(address.query)["token"][0], process, folder)
    process.kill()
    process.wait()
    process.stdout.close()


def _prediction(served: Served, pixels: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]") -> bytes:
    body = b"{}\n" + pixels.astype("<f4").tobytes()
    what = f"POST /look/{identity('train', 'net')}/forward"
    return served.head(what) + f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


async def _predictions(served: Served, requests: list[bytes]) -> tuple[list[bytes], set[int]]:
    """All answers, asked at once; who is told to come back does. Also every other status that was seen."""
    answers: list[bytes] = [b""] * len(requests)
    seen: set[int] = set()

    async def ask(index: int) -> None:
        while True:
            status, body = await answer(served.port, requests[index])
            if status == 200:
                answers[index] = body
                return
            seen.add(status)
            if status != 503:
                return
            await asyncio.sleep(0.05)

    await asyncio.gather(*(ask(index) for index in range(len(requests))))
    return answers, seen


def wrong_pairs(answers: list[bytes], expected: torch.Tensor) -> int:
    """How many answers are not those of their own picture."""
    count = 0
    for body, known in zip(answers, expected, strict=True):
        found = np.frombuffer(body, "<f4")[: len(known)] if body else np.zeros(0)
        count += len(found) != len(known) or not np.allclose(found, known.numpy(), atol=1e-4)
    return count


def test_a_thousand_at_once_each_get_their_own_answer_and_nothing_is_kept(served: Served) -> None:
    pictures = np.random.default_rng(0).random((MANY, 1, 8, 8), dtype=np.float32)
    model = predictor.load(served.folder)
    with torch.no_grad():
        expected = model.net((torch.from_numpy(pictures) - model.mean) / model.std)
    requests = [_prediction(served, picture) for picture in pictures]
    asyncio.run(_predictions(served, requests[:100]))
    before = served.held_mib()
    answers, seen = asyncio.run(_predictions(served, requests))
    assert seen <= {503}
    assert wrong_pairs(answers, expected) == 0
    assert wrong_pairs([*answers[1:], answers[0]], expected) > MANY // 2  # a planted mix-up is noticed
    asyncio.run(_predictions(served, requests))
    assert served.held_mib() - before < HELD_MIB


def test_slow_and_endless_requests_do_not_keep_others_out(served: Served) -> None:
    async def attack() -> list[int]:
        held = []
        for number in range(200):
            _, writer = await asyncio.open_connection("127.0.0.1", served.port)
            if number % 2:
                writer.write(b"GET / HTTP/1.1\r\nHost: ")  # the head never ends
            else:
                writer.write(
                    served.head("POST /look/x/forward") + b"Content-Length: 9\r\n\r\nx"
                )  # the body neither
            held.append(writer)
        honest = served.head("GET /runs") + b"Connection: close\r\n\r\n"
        found = [(await answer(served.port, honest))[0] for _ in range(20)]
        for writer in held:
            writer.close()
        return found

    assert asyncio.run(attack()) == [200] * 20


def test_a_body_of_five_gibibytes_is_not_taken(served: Served) -> None:
    async def attack() -> int:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(
            served.head(f"POST /look/{identity('train', 'net')}/forward")
            + b"Transfer-Encoding: chunked\r\n\r\n"
        )
        sent = 0
        try:
            while sent < BODY:
                writer.write(b"100000\r\n" + b"x" * 2**20 + b"\r\n")
                await writer.drain()
                sent += 2**20
        except OSError:
            pass
        finally:
            writer.transport.abort()
        return sent

    before = served.held_mib()
    assert asyncio.run(attack()) < 20 * LARGEST_BODY
    assert served.held_mib() - before < HELD_MIB


@pytest.mark.parametrize(
    "target", ["/%ff", "/runs/%00", "*", "http://evil.example/", "/" + "a" * 70_000, "/\x7f", "/?%"]
)
def test_strange_targets_are_answered_or_cut_off(target: str, served: Served) -> None:
    status, body = asyncio.run(
        answer(served.port, served.head(f"GET {target}") + b"Connection: close\r\n\r\n")
    )
    assert status in (0, 200, 400, 401, 403, 404)
    assert b"Traceback" not in body


def test_ctrl_c_ends_it_while_a_page_follows_a_run(served: Served) -> None:
    files.write_json(served.folder / ".holder", {"pid": 1, "host": "elsewhere"})
    (served.folder / "result.json").unlink()

    async def follow() -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(served.head(f"GET /runs/{identity('train', 'net')}/events") + b"\r\n")
        try:
            first = await reader.readuntil(b"event: state")
            served.process.send_signal(signal.SIGINT)
            return first + await reader.read()
        finally:
            writer.close()

    assert re.search(rb" 200 ", asyncio.run(asyncio.wait_for(follow(), PATIENCE)))
    assert served.process.wait(PATIENCE) == 0
