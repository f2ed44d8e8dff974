"""Attention kernels: time and memory of a forward and backward pass against the textbook stored feature map.

    python -m benchmarks.attention            D = 16, 32, 64 and N = 256 to 8192, ten minutes, writes results
    python -m benchmarks.attention --quick    two small sizes on any machine, writes nothing

Says from which number of tokens on `linear` and `quadratic` attention are faster than fused softmax
attention. Fails if `auto` is more than 10 % slower than the better route anywhere, or if at D = 32, N = 4096
quadratic attention is less than 3 times as fast as the stored map or takes more than a fifth of its
memory."""

import argparse
import math
import multiprocessing
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks import record
from vitruvius.core.errors import UserError
from vitruvius.kernels import linear, quadratic, softmax

HEADS = 8
WIDTHS = (16, 32, 64)
TOKENS = (256, 512, 1024, 2048, 4096, 8192)
ROUNDS = 5
MEMORY_TOKENS = 4096
STORED_LIMIT = 2**30  # features of all queries and keys: the stored map keeps several copies of them
SLOWER = 1.10
FASTER, SMALLER = 3.0, 5.0


def stored(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The textbook form of quadratic attention: autograd keeps the features of all queries and keys."""
    a, b = quadratic.features(q), quadratic.features(k)
    return a @ (b.mT @ v) / (a @ b.sum(2).unsqueeze(-1))


METHODS: dict[str, Callable[..., Tensor]] = {
    "softmax": softmax.attend,
    "linear": linear.attend,
    "linear causal": partial(linear.attend, mask="causal"),
    "stored": stored,
    "blocked": partial(quadratic.attend, route="blocked"),
    "features": partial(quadratic.attend, route="features"),
    "auto": quadratic.attend,
}


def once(method: str, tokens: int, width: int) -> float:
    """Milliseconds of one forward and backward pass."""
    random = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, HEADS, tokens, width, generator=random).requires_grad_() for _ in range(3))
    began = time.perf_counter()
    METHODS[method](q, k, v).sum().backward()
    return (time.perf_counter() - began) * 1e3


def times(tokens: int, width: int) -> dict[str, float]:
    """The best of several rounds of every method, taken in turns so that all meet the same machine."""
    methods = [name for name in METHODS if name != "stored" or _features(tokens, width) <= STORED_LIMIT]
    rounds = [{name: once(name, tokens, width) for name in methods} for _ in range(ROUNDS)]
    return {name: round(min(measured[name] for measured in rounds), 2) for name in methods}


def peak_mib(method: str, tokens: int, width: int) -> float:
    """The largest memory of one pass above what the process had before it; for a fresh process, on Linux."""
    torch.set_num_threads(1)
    once(method, 64, width)
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _status("VmRSS")
    once(method, tokens, width)
    return round((_status("VmHWM") - before) / 1024, 1)


def peaks(tokens: int, width: int) -> dict[str, float]:
    """The peak of every method, each in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn, max_tasks_per_child=1) as pool:
        return {name: pool.submit(peak_mib, name, tokens, width).result() for name in METHODS}


def measure(tokens: int, width: int, memory: bool) -> dict[str, Any]:
    """One row of the results, printed as it is found."""
    row: dict[str, Any] = {"width": width, "tokens": tokens, "ms": times(tokens, width)}
    show(f"{width:3} {tokens:5}  ms", row["ms"])
    if memory:
        row["peak_mib"] = peaks(tokens, width)
        show(f"{'MiB':>13}", row["peak_mib"])
    return row


def show(label: str, measured: dict[str, float]) -> None:
    """One line of the table; the last column says how many times less `auto` takes than the stored map."""
    cells = "".join(f"{measured.get(name, '-'):>14}" for name in METHODS)
    saved = f"{measured['stored'] / measured['auto']:13.1f}x" if "stored" in measured else ""
    print(label, cells, saved, flush=True)


def crossovers(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each width and method, the tokens from which it takes less time than fused softmax attention.

    Between two measured lengths both times are taken as straight lines over logarithmic axes; None: nowhere.
    """
    found = []
    for width in dict.fromkeys(row["width"] for row in rows):
        measured = sorted((row for row in rows if row["width"] == width), key=lambda row: row["tokens"])
        for method in ("linear", "auto"):
            gaps = [(row["tokens"], math.log(row["ms"][method] / row["ms"]["softmax"])) for row in measured]
            found.append({"width": width, "method": method, "tokens": _zero(gaps)})
    return found


def _zero(gaps: Sequence[tuple[int, float]]) -> int | None:
    """Where the last change of sign from slower to faster lies; the first length if it is always faster.

    >>> _zero([(256, 1.0), (1024, -1.0), (4096, -2.0)]), _zero([(256, 0.5)]), _zero([(256, -0.5)])
    (512, None, 256)
    """
    if gaps[-1][1] > 0:
        return None
    for (before, slower), (after, faster) in reversed(list(pairwise(gaps))):
        if slower > 0 >= faster:
            return round(math.exp(math.log(before) + math.log(after / before) * slower / (slower - faster)))
    return gaps[0][0]


def failures(rows: Sequence[dict[str, Any]]) -> list[str]:
    """What the measured times and peaks break of what the kernels promise."""
    found = []
    for row in rows:
        ms, where = row["ms"], f"D = {row['width']}, N = {row['tokens']}"
        best = min(ms["blocked"], ms["features"])
        if ms["auto"] > SLOWER * best:
            found.append(f"{where}: auto takes {ms['auto']} ms, the better route {best} ms")
        if (row["width"], row["tokens"]) == (32, 4096):
            if ms["stored"] < FASTER * ms["auto"]:
                found.append(f"{where}: auto takes {ms['auto']} ms, the stored map {ms['stored']} ms")
            if row["peak_mib"]["stored"] < SMALLER * row["peak_mib"]["auto"]:
                found.append(
                    f"{where}: auto takes {row['peak_mib']['auto']} MiB, the stored map {row['peak_mib']}"
                )
    return found


def main() -> None:
    """Measure, print, write, judge."""
    parser = argparse.ArgumentParser(prog="benchmarks.attention", description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--quick", action="store_true", help="two small sizes, nothing written, nothing judged"
    )
    quick = parser.parse_args().quick
    torch.set_num_threads(1)
    print("  D     N    ", "".join(f"{name:>14}" for name in METHODS), f"{'stored / auto':>14}")
    if quick:
        for tokens in (128, 512):
            measure(tokens, 16, memory=tokens == 512)
        return
    try:
        load = record.refuse_if_busy()
    except UserError as error:
        raise SystemExit(str(error)) from None
    sizes = [(tokens, width) for width in WIDTHS for tokens in TOKENS]
    rows = [measure(tokens, width, memory=tokens == MEMORY_TOKENS) for tokens, width in sizes]
    crossed = crossovers(rows)
    for one in crossed:
        name = "quadratic" if one["method"] == "auto" else one["method"]
        print(
            f"D = {one['width']}: {name} is faster than fused softmax from {one['tokens'] or 'no'} tokens on"
        )
    print(record.write("attention", rows, load=load, threads=1, heads=HEADS, crossovers=crossed))
    if broken := failures(rows):
        raise SystemExit("\n".join(broken))


def _features(tokens: int, width: int) -> int:
    return 2 * HEADS * tokens * (width + 1) * (width + 2) // 2


def _status(field: str) -> int:
    """A size in KiB from the kernel's account of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field))


if __name__ == "__main__":
    main()
