"""What the benchmarks of speed conclude from times: intervals, crossovers, and what they call a failure."""

import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from scipy.stats import binom

from benchmarks import attention, earlier, peers, products, train_step, turns
from vitruvius.arch import cost, tables


@pytest.mark.parametrize("count", [5, 6, 9, 15, 40])
def test_the_interval_holds_the_median_with_95_percent_and_is_no_wider(count: int) -> None:
    """Both tails are binomial; ratios 1 to n make the order statistics visible."""
    ratios = list(range(1, count + 1))
    random.Random(0).shuffle(ratios)
    median, low, high = turns.ratio([float(ratio) for ratio in ratios], [1.0] * count)
    assert (median, low + high) == ((count + 1) / 2, count + 1)
    outside = binom.cdf(low - 1, count, 0.5)
    assert outside <= 0.025 or low == 1  # with five blocks nothing narrower than all of them is sure
    assert binom.cdf(low, count, 0.5) > 0.025


def test_contestants_take_turns() -> None:
    order: list[str] = []
    found = turns.seconds({name: lambda count, name=name: order.append(name) for name in "abc"}, 3, 2)  # type: ignore[misc]
    assert "".join(order) == "abcbcacab"
    assert [len(found[name]) for name in "abc"] == [3, 3, 3]


def test_a_crossover_is_where_the_times_meet() -> None:
    """Softmax grows with the square of the tokens, linear with the tokens; they meet at 1000."""
    rows = [
        {"width": 16, "tokens": n, "ms": {"softmax": n**2 / 1000, "linear": float(n), "auto": 2.0 * n**2}}
        for n in (256, 512, 2048)
    ]
    found = {one["method"]: one["tokens"] for one in attention.crossovers(rows)}
    assert found == {"linear": 1000, "auto": None}


def row(who: str, ms: float, ratio: float, **more: Any) -> dict[str, Any]:
    case = {"preset": "mnist", "batch": 32, "dropout": 0.0, **more}
    return {**case, "who": who, "ms": ms, "ours_is_faster_by": ratio}


def test_what_is_asked_is_judged_without_dropout_and_against_the_best_compiled_peer() -> None:
    good = [row("vitruvius, compiled", 10.0, 1.0), row("bare, compiled", 9.6, 0.96)]
    good += [row("a, compiled", 18.0, 1.8), row("b, compiled", 30.0, 3.0), row("c, eager", 5.0, 0.5)]
    assert not train_step.failures([*good, row("a, compiled", 9.0, 0.9, dropout=0.1)])
    slower = [*good, row("d, compiled", 16.0, 1.6)]
    assert train_step.failures(slower) == ["mnist, batch 32: 1.6 times the best compiled peer, not 1.7"]
    assert "1.11 of the bare network" in train_step.failures([*good, row("bare, compiled", 9.0, 0.9)])[0]


@pytest.mark.parametrize(
    ("mkl", "onednn", "pays", "is_chosen", "slower"),
    [
        (20.0, 30.0, True, True, "oneDNN"),
        (20.0, 30.0, False, True, ""),  # too small to be given to oneDNN
        (30.0, 20.0, True, True, ""),
        (30.0, 20.0, True, False, "MKL"),
        (20.0, 30.0, True, False, ""),
    ],
)
def test_a_linear_map_fails_that_the_slower_library_gets(
    mkl: float, onednn: float, pays: bool, is_chosen: bool, slower: str
) -> None:
    row = {"inputs": 64, "outputs": 128, "threads": 2, "pays": pays}
    rows = [row | {"MKL_us": mkl, "oneDNN_us": onednn}, row | {"MKL_us": 10.0, "oneDNN_us": 12.0}]
    found = products.failures([*rows, row | {"inputs": 1, "MKL_us": 1.0, "oneDNN_us": 1.0}], is_chosen)
    assert [f"{slower} is slower" in text for text in found if "64 to 128" in text] == [True] * bool(slower)


@pytest.mark.parametrize("sizes", [(3, 5), (5, 3)])
def test_both_libraries_find_the_same_products(sizes: tuple[int, int]) -> None:
    for both in products.products(7, *sizes).values():
        found, expected = both["oneDNN"](), both["MKL"]()
        assert found.shape == expected.shape
        assert torch.allclose(found, expected, atol=1e-5)


def test_the_peers_are_the_same_network() -> None:
    arch = tables.arch("mnist-slim", ("qkv_bias=true",))
    found = peers.TorchEncoder(arch)
    assert sum(parameter.numel() for parameter in found.parameters()) == cost.cost(arch).params
    assert peers.macs(tables.arch("mnist")) > cost.cost(tables.arch("mnist")).macs


def test_the_cases_are_those_that_are_asked_for() -> None:
    assert len(train_step.CASES) == 14
    assert {case.preset for case in train_step.CASES} == set(train_step.ASKED)
    assert [case.arch.layers[0].head_dim for case in train_step.CASES[::4]] == [64, 8, 64, 64]


WRITES = (
    "import sys, time\nfor _ in range(200):\n    print(sys.argv[1], end='', flush=True); time.sleep(0.002)"
)


def test_of_two_processes_in_turns_one_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Letters of processes that run at the same time would alternate; here they come in blocks."""
    taken: list[float] = []
    take_turn = earlier.take_turn

    def counted(process: "subprocess.Popen[bytes]", seconds: float) -> float:
        taken.append(take_turn(process, seconds))
        return taken[-1]

    monkeypatch.setattr(earlier, "take_turn", counted)
    path = tmp_path / "letters"
    with path.open("ab") as letters:
        found = {
            name: subprocess.Popen(
                [sys.executable, "-c", WRITES, name], stdout=letters, start_new_session=True
            )
            for name in "ab"
        }
        spent = earlier.in_turns(found, 0.05)
    written = path.read_text()
    assert sorted(written) == ["a"] * 200 + ["b"] * 200
    assert [process.returncode for process in found.values()] == [0, 0]
    # A signal may come a letter late.
    assert sum(one != next_ for one, next_ in pairwise(written)) <= 3 * len(taken)
    assert sum(spent.values()) == pytest.approx(sum(taken))


def test_processes_in_turns_do_not_outlive_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    sleeps = [sys.executable, "-c", "import time; time.sleep(600)"]
    found = {name: subprocess.Popen(sleeps, start_new_session=True) for name in "ab"}
    monkeypatch.setattr(earlier, "take_turn", lambda *turn: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        earlier.in_turns(found, 0.05)
    assert all(process.returncode for process in found.values())
