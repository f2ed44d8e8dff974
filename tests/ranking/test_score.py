"""Scores are pure functions of network, proxy, minibatch and seed; failures are scores with a reason."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from vitruvius import datasets
from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.nn import vit
from vitruvius.ranking import candidates, score, spread
from vitruvius.ranking.score import Minibatch, Scoring, Shared, Task
from vitruvius.training.batches import batches_of

ARCH = Arch(image=8, patch=4, width=8, depth=1, heads=2, mlp=8)
OTHER = ARCH.with_fields(depth=2)


@pytest.fixture(scope="module")
def data() -> datasets.Dataset:
    return datasets.get("noise:1x8x8")


def scoring(
    data: datasets.Dataset, *names: str, archs: Any = (ARCH, OTHER), seeds: int = 2, batch: int = 4
) -> Scoring:
    batches = {seed: score.minibatch(data, batch, seed) for seed in range(seeds)}
    return Scoring(archs, Shared(score.locate_proxies(names or ("grad_norm", "snip")), batches))


def own_file(folder: Path, text: str) -> Path:
    path = folder / "mine.py"
    path.write_text(f"import os\nimport torch\nfrom torch import nn\n{text}")
    return path


def values(scoring: Scoring, **how: Any) -> list[dict[str, float | None]]:
    return [
        {name: score.value for name, score in r.scores.items()} for r in score.score_all(scoring, {}, **how)
    ]


def test_the_minibatch_is_the_first_that_a_training_with_that_seed_sees() -> None:
    mnist = datasets.get("fashion_mnist:mini")
    batch = score.minibatch(mnist, 32, seed=5)
    images = batches_of(mnist, mnist.train, seed=5)
    first = images.batch(images.order(0)[:32], epoch=0)
    assert (batch.x == first.x.numpy()).all()
    assert first.y is not None
    assert (batch.y == first.y.numpy()).all()
    assert abs(batch.x.mean()) < 0.2
    assert (score.minibatch(mnist, 32, seed=6).x != batch.x).any()
    with pytest.raises(UserError, match=r"batch 801: fashion_mnist \(mini\) has 800 training images"):
        score.minibatch(mnist, 801, seed=0)


def test_scores_are_those_of_the_network_that_the_seed_draws(data: datasets.Dataset) -> None:
    found = scoring(data, "grad_norm")
    for answer, task in zip(values(found), found.tasks.values(), strict=True):
        assert isinstance(task.network, Arch)
        model = vit.build(task.network, task.seed).eval()
        x, y = map(torch.from_numpy, found.shared.batches[task.seed])
        nn.functional.cross_entropy(model(x), y).backward()
        squares = sum(float(p.grad.square().sum()) for p in model.parameters() if p.grad is not None)
        assert answer["grad_norm"] == pytest.approx(squares**0.5, rel=1e-5)
        assert answer["params"] == sum(p.numel() for p in model.parameters())


def test_scores_do_not_depend_on_company_order_or_executor(data: datasets.Dataset) -> None:
    together = values(scoring(data))
    assert values(scoring(data, archs=(OTHER, ARCH))) == [together[index] for index in (1, 0, 3, 2)]
    assert values(scoring(data, archs=(OTHER,), seeds=1)) == together[1:2]
    assert [answer["snip"] for answer in values(scoring(data, "snip"))] == [
        answer["snip"] for answer in together
    ]
    assert values(scoring(data), executor="processes", workers=2) == together


def test_every_condition_of_a_score_is_in_its_key(data: datasets.Dataset, tmp_path: Path) -> None:
    whole = scoring(data)
    keys = set(whole.tasks)
    assert keys == set(scoring(data).tasks)
    assert not keys & set(scoring(data, "snip").tasks)
    assert not keys & set(scoring(data, batch=5).tasks)
    assert not keys & set(Scoring(whole.networks, whole.shared._replace(device="cuda")).tasks)
    assert not keys & set(scoring(datasets.get("noise:1x8x8", seed=1)).tasks)
    changed = scoring(data, archs=(ARCH, ARCH.with_fields(mlp=9)))
    assert {whole.tasks[key].network for key in keys - set(changed.tasks)} == {OTHER}
    mine = own_file(tmp_path, "def size(once): return 1.0\n")
    before = set(scoring(data, f"{mine}:size").tasks)
    mine.write_text(mine.read_text() + "# changed\n")
    assert not before & set(scoring(data, f"{mine}:size").tasks)


def test_what_is_done_is_not_done_again(data: datasets.Dataset) -> None:
    whole = scoring(data)
    first, *rest = score.score_all(whole, {})
    lines = [{**first.line(), "extra": 1}, {"kind": "note", "text": "x"}, {**rest[0].line(), "key": "other"}]
    done = score.read(lines, whole)
    assert done == {first.key: first}
    again = list(score.score_all(whole, done))
    assert [record.scores for record in again] == [record.scores for record in rest]


def test_scoring_knows_neither_names_nor_accuracies() -> None:
    assert Task._fields == ("network", "seed")
    assert Shared._fields == ("proxies", "batches", "device")
    source = inspect.getsource(score) + inspect.getsource(spread) + inspect.getsource(candidates)
    assert "accuracies(" not in source
    assert "columns(" not in source


FAULTY = """
def nan(once): return float("nan")
def infinite(once): return float("inf")
def broken(once): raise ValueError("no layers\\nat all")
def hungry(once): raise RuntimeError("DefaultCPUAllocator: can't allocate memory: 8 bytes")
def deadly(once): os.abort()
"""


def test_failed_scores_are_recorded_with_their_reason(data: datasets.Dataset, tmp_path: Path) -> None:
    mine = own_file(tmp_path, FAULTY)
    names = [f"{mine}:{name}" for name in ("nan", "infinite", "broken", "hungry")]
    (record,) = score.score_all(scoring(data, *names, "snip", archs=(ARCH,), seeds=1), {})
    reasons = ["the score is nan", "the score is inf", "ValueError: no layers"]
    reasons += ["out of memory with 4 images: choose a smaller --batch"]
    assert [record.scores[name].failed for name in names] == reasons
    assert record.scores["snip"].value is not None
    assert record.line()["scores"][names[0]] == {"value": None, "failed": "the score is nan"}


def test_a_proxy_that_ends_its_process_fails_alone(data: datasets.Dataset, tmp_path: Path) -> None:
    found = scoring(data, f"{own_file(tmp_path, FAULTY)}:deadly", seeds=1)
    for record in score.score_all(found, {}, "processes", 2):
        assert {score.failed for score in record.scores.values()} == {spread.ENDED}


def test_a_network_too_big_for_the_machine_fails_with_its_size(data: datasets.Dataset) -> None:
    giant = ARCH.with_fields(width=2**17, depth=1000)
    small, big = score.score_all(scoring(data, archs=(ARCH, giant), seeds=1), {})
    assert small.scores["snip"].value is not None
    assert "parameters does not fit: training it with batch 4 needs about" in str(big.scores["snip"].failed)


MODELS = """
class Overwriting(nn.Module):
    def __init__(self):
        super().__init__()
        self.map = nn.Linear(64, 10)
    def forward(self, x):
        return self.map(x.sub_(1).flatten(1))
def models():
    yield "linear", nn.Sequential(nn.Flatten(), nn.Linear(64, 10))
    yield "overwriting", Overwriting()
    yield "blind", nn.Linear(7, 10)
    yield "last", nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.GELU(), nn.Linear(8, 10))
"""


def test_peoples_own_modules_are_scored_like_any_other(data: datasets.Dataset, tmp_path: Path) -> None:
    found = candidates.networks([f"{own_file(tmp_path, MODELS)}:models"], data)
    assert list(found) == ["linear", "overwriting", "blind", "last"]
    whole = scoring(data, archs=tuple(found.values()))
    scored = [record.scores for record in score.score_all(whole, {})]
    assert [score["params"].value for score in scored[:4]] == [650, 650, 80, 610]
    assert "RuntimeError: mat1 and mat2 shapes cannot be multiplied" in str(scored[2]["snip"].failed)
    assert scored[3]["grad_norm"] != scored[7]["grad_norm"]
    last = scoring(data, archs=(found["last"],))
    assert [record.scores for record in score.score_all(last, {})] == [scored[3], scored[7]]
    assert [record.scores for record in score.score_all(whole, {}, "processes", 2)] == scored


STRANGE = """
from torch.utils.checkpoint import checkpoint
class Recomputing(nn.Module):
    def __init__(self):
        super().__init__()
        layers = nn.Linear(64, 8), nn.BatchNorm1d(8), nn.Dropout(0.5), nn.GELU()
        self.body = nn.Sequential(nn.Flatten(), *layers)
        self.head = nn.Linear(8, 10)
    def forward(self, x):
        return self.head(checkpoint(self.body, x, use_reentrant=False))
class Overwriting(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(64, 8), nn.GELU(), nn.Linear(8, 10))
    def forward(self, x):
        return self.body(x.mul_(3).add_(1))
def models():
    yield "recomputing", Recomputing()
    yield "overwriting", Overwriting()
def luck(once):
    return float(torch.rand(()))
"""


def test_a_score_does_not_depend_on_its_company_whatever_a_network_does(
    data: datasets.Dataset, tmp_path: Path
) -> None:
    mine = own_file(tmp_path, STRANGE)
    archs = tuple(candidates.networks([f"{mine}:models"], data).values())
    names = ("grad_norm", "fisher", "jacob_cov", "zen", "zico", f"{mine}:luck")
    together = [record.scores for record in score.score_all(scoring(data, *names, archs=archs, seeds=1), {})]
    for name in names:
        alone = [record.scores for record in score.score_all(scoring(data, name, archs=archs, seeds=1), {})]
        assert [scores[name] for scores in alone] == [scores[name] for scores in together]
        assert all(scores[name].value is not None for scores in together)


def test_proxies_are_chosen_by_name_with_the_structural_ones_behind() -> None:
    assert list(score.locate_proxies(["snip", "params", "snip"])) == [
        "snip",
        "params",
        "macs",
        "depth",
        "width_sum",
    ]
    every = list(score.locate_proxies(["all"]))
    assert every[-4:] == ["params", "macs", "depth", "width_sum"]
    assert {"snip", "grad_norm"} < set(every)
    with pytest.raises(UserError, match="no proxy 'snp': did you mean 'snip'"):
        score.locate_proxies(["snp"])


def test_the_table_has_a_row_per_network_and_a_column_per_seed(data: datasets.Dataset) -> None:
    whole = scoring(data, seeds=3)
    done = {record.key: record for record in score.score_all(whole, {})}
    table = score.score_table(whole, done)
    assert {len(row) for rows in table.values() for row in rows} == {3}
    by_task = {(task.network, task.seed): done[key].scores for key, task in whole.tasks.items()}
    assert table["snip"][1][2] == by_task[OTHER, 2]["snip"]


@pytest.fixture(autouse=True)
def untouched_random_state() -> Iterator[None]:
    """No scoring may move the global random stream."""
    before = torch.get_rng_state()
    yield
    assert (torch.get_rng_state() == before).all()


def test_a_minibatch_is_known_by_its_bytes() -> None:
    x, y = np.zeros((2, 1, 2, 2), np.float32), np.array([0, 1])
    assert Minibatch(x, y).sha256() == Minibatch(x.copy(), y).sha256()
    assert Minibatch(x, y).sha256() != Minibatch(x, y[::-1]).sha256()
