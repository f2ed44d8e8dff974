"""Who may win, what is compared with whom, what is learned from accuracies, and where the winner goes."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.core.errors import WorkFailed
from vitruvius.ranking import surrogate
from vitruvius.ranking.evaluation import Interval
from vitruvius.searching import gains, prepare, queueing, session, stages, winner
from vitruvius.searching.prepare import PRESET
from vitruvius.searching.results import Network
from vitruvius.searching.sampling import Candidate
from vitruvius.searching.settings import Config
from vitruvius.searching.study import Request
from vitruvius.searching.trials import Outcome

ARCH = Arch(image=8, patch=4, channels=1, classes=2, width=8, depth=1, heads=2, mlp=8)


def network(number: int, accuracy: float, **fields: Any) -> Network:
    price = cost.cost(ARCH)
    given = {"params": price.params, "macs": price.macs, "full": (accuracy, accuracy), **fields}
    return Network(name=f"net-{number}", number=number, arch=ARCH, interval=Interval(value=accuracy), **given)


def prepared(**settings: Any) -> Any:
    price = cost.cost(ARCH)
    candidates = {n: Candidate(n, ARCH, price.params, price.macs) for n in (PRESET, 0, 1, 2)}
    config = Config(batch=16, **settings)
    unused: Any = None
    return prepare.Prepared(config, unused, "space", unused, candidates, 0, "mnist", unused, unused, {})


@pytest.mark.parametrize("bound", ["max_params", "max_macs", "max_memory"])
def test_a_preset_beyond_the_budget_is_compared_with_and_does_not_win(bound: str) -> None:
    price = cost.cost(ARCH)
    has = {"max_params": price.params, "max_macs": price.macs, "max_memory": price.training_bytes(16) / 2**20}
    ordered = [network(PRESET, 0.9), network(0, 0.8)]
    fits, too_big = (SimpleNamespace(prepared=prepared(**{bound: has[bound] * f})) for f in (1, 0.5))
    if bound != "max_memory":
        too_big = SimpleNamespace(prepared=prepared(**{bound: int(has[bound]) - 1}))
    assert session._winner(fits, ordered).number == PRESET  # type: ignore[arg-type]
    assert session._winner(too_big, ordered).number == 0  # type: ignore[arg-type]


def test_a_network_that_is_too_slow_or_was_not_trained_to_its_end_does_not_win() -> None:
    search: Any = SimpleNamespace(prepared=prepared(max_ms=2.0))
    ordered = [network(0, 0.9, ms=3.0), network(1, 0.8, full=()), network(2, 0.7, ms=2.0)]
    assert session._winner(search, ordered).number == 2
    search.study = SimpleNamespace(finished=lambda: {Request(1, 5): Outcome(failed="no memory")})
    with pytest.raises(WorkFailed, match="no memory"):
        session._winner(search, ordered[:2])


def test_the_front_has_no_network_that_a_cheaper_one_equals() -> None:
    rows = [(10, 0.5), (10, 0.6), (20, 0.6), (30, 0.9), (40, 0.8)]
    networks = [network(index, value, params=params) for index, (params, value) in enumerate(rows)]
    assert gains.front(networks, "params") == ("net-1", "net-3")
    assert gains.front([*networks, network(9, 1.0, full=())], "params") == ("net-1", "net-3")


def test_the_nearest_preset_is_that_of_the_smallest_ratio_of_parameters() -> None:
    sizes = {"image": 28, "channels": 1, "classes": 10}
    for largest in (3_000, 60_000, 5_000_000):
        name, arch = prepare._nearest_preset(sizes, Candidate(0, ARCH, largest, 1))
        assert name is not None
        assert arch == tables.arch(name, (), **sizes)

        def ratio(arch: Arch, largest: int = largest) -> float:
            return abs(np.log(cost.cost(arch).params / largest))

        for other in tables.presets():
            try:
                rival = tables.arch(other, (), **sizes)
            except Exception:  # its patches do not divide the image
                continue
            assert ratio(arch) <= ratio(rival) + 1e-12


def test_the_winner_gets_a_folder_that_no_run_has(tmp_path: Path) -> None:
    assert winner.free_folder(tmp_path, "x") == tmp_path / "train" / "x"
    (tmp_path / "train" / "x").mkdir(parents=True)
    (tmp_path / "train" / "x-2").mkdir()
    assert winner.free_folder(tmp_path, "x") == tmp_path / "train" / "x-3"


def searched(done: dict[Request, Outcome], numbers: list[int], images: int) -> Any:
    """As much of a search as the surrogate looks at: networks of growing width."""
    archs = {
        n: Arch(image=8, patch=4, channels=1, classes=2, width=4 + 4 * n, heads=2, mlp=8) for n in numbers
    }
    networks = {n: Candidate(n, arch, cost.cost(arch).params, 1) for n, arch in archs.items()}
    params = np.array([float(one.params) for one in networks.values()])
    return SimpleNamespace(
        numbers=numbers,
        scores={"params": params},
        learned=[],
        study=SimpleNamespace(finished=lambda: done),
        prepared=SimpleNamespace(networks=networks, data=SimpleNamespace(validation=range(images))),
    )


def test_noisy_accuracies_are_drawn_towards_the_prediction_and_sure_ones_are_not() -> None:
    numbers, random = list(range(14)), np.random.default_rng(0)
    truth = {n: 0.9 - 0.03 * n for n in numbers}  # counting orders them backwards
    done = {Request(n, 5): Outcome(accuracy=truth[n] + float(random.normal(0, 0.03))) for n in numbers}
    done[Request(13, 5)] = Outcome(failed="the loss became nan")
    few, many = (searched(done, numbers, images) for images in (40, 10**9))
    found, sure = (stages._posterior(search, numbers, [5]) for search in (few, many))
    assert few.learned[0].used
    assert sorted(found) == numbers[:13]  # one that failed does not go on
    known = queueing.accuracies(few, 5)
    assert sure == pytest.approx(known)
    errors = [sum((value[n] - truth[n]) ** 2 for n in numbers[:13]) for value in (found, known)]
    assert errors[0] < errors[1]


def test_with_too_few_accuracies_they_stand_for_themselves() -> None:
    numbers = list(range(6))
    done = {Request(n, 5): Outcome(accuracy=0.1 * n) for n in numbers}
    search = searched(done, numbers, 100)
    assert stages._posterior(search, numbers, [5]) == queueing.accuracies(search, 5)
    assert not search.learned[0].used
    assert search.learned[0].labels < surrogate.FEWEST


def test_where_every_short_training_failed_the_reason_is_said() -> None:
    search = searched({Request(0, 5): Outcome(failed="no luck")}, [0], 100)
    with pytest.raises(WorkFailed, match="every training failed: no luck"):
        stages._posterior(search, [0], [5])
