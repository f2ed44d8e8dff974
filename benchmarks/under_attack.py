"""Seconds that honest requests take while others attack the server of `vitruvius serve`.

    python -m benchmarks.under_attack            50 rounds of requests, writes results/under_attack.json
    python -m benchmarks.under_attack --quick    10 rounds on any machine, writes nothing

200 connections whose head or body never ends, bodies of 5 GiB in pieces, and strangers (foreign Host and
Origin, no token, other methods, paths that lead out, script in names) come without pause, while one person
opens pages and asks for predictions. The load of the machine is recorded: attackers and the person share its
cores with the server. Fails if an attack is let in, an honest request is refused, or their 95th percentile is
above the goal.
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from urllib.parse import parse_qs, urlsplit

import numpy as np

from benchmarks import record

GOAL = 1.0
"""Seconds, 95th percentile of the honest requests."""
SLOW = 200
"""Connections that are held open."""
BODY = 5 * 2**30
PAGES = ("/", "/runs", "/lessons", "/lessons/attention", "/look")


@dataclass(frozen=True)
class Target:
    """A server and the token that opens it."""

    port: int
    token: str

    def head(self, what: str) -> bytes:
        """The head of a request, up to its last line."""
        cookie = f"vitruvius-{self.port}={self.token}"
        return f"{what} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\nCookie: {cookie}\r\n".encode()

    def honest(self) -> dict[str, bytes]:
        """Whole requests of a person, by what they are for."""
        pages = {page: self.head(f"GET {page}") + b"Connection: close\r\n\r\n" for page in PAGES}
        body = b"{}\n" + np.random.default_rng(0).random((1, 28, 28)).astype("<f4").tobytes()
        ending = f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        return pages | {"prediction": self.head("POST /look/shipped/forward") + ending + body}

    def strange(self) -> list[bytes]:
        """Whole requests that must all be refused."""
        end, host = b"Connection: close\r\n\r\n", f"Host: 127.0.0.1:{self.port}\r\n".encode()
        cookie = f"Cookie: vitruvius-{self.port}={self.token}\r\n".encode()
        hosts = (b"evil.example", b"127.0.0.1", b"127.0.0.1.evil.example:80")
        origins = (b"null", b"http://evil.example", b"https://127.0.0.1")
        paths = ("..%2f..%2fetc%2fpasswd", "%2e%2e/secret", "..%5c..%5csecret", "<script>alert(1)</script>")
        rebound = [b"GET / HTTP/1.1\r\nHost: " + name + b"\r\n" + cookie + end for name in hosts]
        crossed = [self.head("POST /runs") + b"Origin: " + origin + b"\r\n" + end for origin in origins]
        led_out = [self.head(f"GET /static/{path}") + end for path in paths]
        led_out += [self.head(f"GET /runs/{path}") + end for path in paths]
        stolen = [b"GET /runs HTTP/1.1\r\n" + host + end, b"GET /?token=guess HTTP/1.1\r\n" + host + end]
        methods = [self.head(f"{method} /runs") + end for method in ("PUT", "DELETE", "OPTIONS", "TRACE")]
        return rebound + crossed + led_out + stolen + methods


async def answer(port: int, request: bytes) -> tuple[int, bytes]:
    """Send a request and read the answer to its end; 0 if the connection breaks."""
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
    except OSError:
        return 0, b""
    try:
        writer.write(request)
        await writer.drain()
        text = await reader.read()
    except OSError:
        return 0, b""
    finally:
        writer.transport.abort()
    head, _, body = text.partition(b"\r\n\r\n")
    return int(head.split()[1]) if head else 0, body


async def hold(target: Target, number: int) -> None:
    """Open a connection whose head or body never ends, and another one when it is closed."""
    begun = b"GET / HTTP/1.1\r\nHost: "
    if number % 2:
        begun = target.head("POST /look/shipped/forward") + b"Content-Length: 9\r\n\r\nx"
    while True:
        await answer(target.port, begun)
        await asyncio.sleep(0.1)


async def pour(target: Target, seen: Counter[int]) -> None:
    """Send bodies in pieces up to 5 GiB each, as long as the server takes them."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", target.port)
        writer.write(target.head("POST /look/shipped/forward") + b"Transfer-Encoding: chunked\r\n\r\n")
        sent = 0
        try:
            while sent < BODY and not writer.is_closing():
                writer.write(b"10000\r\n" + b"x" * 2**16 + b"\r\n")
                await writer.drain()
                sent += 2**16
        except OSError:
            pass
        finally:
            writer.transport.abort()
        seen[200 if sent >= BODY else 413] += 1


async def try_in(target: Target, seen: Counter[int]) -> None:
    """Send what must be refused, over and over."""
    while True:
        for request in target.strange():
            seen[(await answer(target.port, request))[0]] += 1


@asynccontextmanager
async def attack(target: Target, slow: int = SLOW) -> AsyncIterator[Counter[int]]:
    """Attack a server until the context ends; gives the statuses that attackers saw."""
    seen: Counter[int] = Counter()
    work = [hold(target, number) for number in range(slow)]
    tasks = [asyncio.create_task(one) for one in (*work, pour(target, seen), try_in(target, seen))]
    await asyncio.sleep(0)
    try:
        yield seen
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def visit(target: Target, rounds: int, slow: int = SLOW) -> tuple[list[dict[str, float]], Counter[int]]:
    """Seconds and status of honest requests, one after the other, under attack; and what attackers saw."""
    found, requests = list[dict[str, float]](), target.honest()
    for request in requests.values():  # what is loaded at the first request is no matter of attacks
        await answer(target.port, request)
    async with attack(target, slow) as seen:
        await asyncio.sleep(0.5)
        for number in range(rounds):
            for request in requests.values():
                began = time.perf_counter()
                status, _ = await answer(target.port, request)
                found.append({"round": number, "status": status, "seconds": time.perf_counter() - began})
    return found, seen


def let_in(seen: Counter[int]) -> dict[int, int]:
    """The statuses of attacks that were not refused: 0 is a closed connection, 503 a full house."""
    return {
        status: count for status, count in seen.items() if not (status in (0, 503) or 400 <= status < 500)
    }


@contextmanager
def served(runs: Path) -> Iterator[Target]:
    """A server of its own process, as users have it."""
    command = [sys.executable, "-m", "vitruvius", "serve", "--no-browser", "--port", "0", "--runs", str(runs)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        address = urlsplit(process.stdout.readline().strip())
        try:
            yield Target(int(address.port or 0), parse_qs(address.query)["token"][0])
        finally:
            process.terminate()


def percentile(values: Sequence[float], part: float) -> float:
    """The value below which a part of the values lies."""
    return sorted(values)[min(int(part * len(values)), len(values) - 1)]


def main() -> int:
    """Measure, print, record."""
    quick, load = "--quick" in sys.argv[1:], os.getloadavg()[0]
    print(record.machine(), f"load {load:.2f}")
    with tempfile.TemporaryDirectory() as folder, served(Path(folder)) as target:
        found, seen = asyncio.run(visit(target, 10 if quick else 50))
    seconds, statuses = [one["seconds"] for one in found], Counter(int(one["status"]) for one in found)
    row = {"median": round(median(seconds), 4), "p95": round(percentile(seconds, 0.95), 4)}
    row |= {"slowest": round(max(seconds), 4), "requests": len(found)}
    print(f"honest: {row}, statuses {dict(statuses)}; attackers saw {dict(seen)}; goal {GOAL} s")
    failed = bool(let_in(seen)) or set(statuses) != {200} or row["p95"] > GOAL
    if not quick:
        attackers = {str(status): count for status, count in sorted(seen.items())}
        print(record.write("under_attack", [row], load=load, goal=GOAL, attackers_saw=attackers))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
