"""`rank --known`: what is known re-ranks the rest; too little known is said."""

import json
from pathlib import Path

import numpy as np
import pytest

from vitruvius.arch.arch import Arch
from vitruvius.core.config import Flags
from vitruvius.core.errors import UserError
from vitruvius.core.records import Score
from vitruvius.ranking import known
from vitruvius.ranking.results import Result
from vitruvius.verbs import rank

ARCHS = [Arch(width=8 * (1 + index % 5), heads=1, mlp=8, depth=1 + index // 5) for index in range(20)]
NAMES = [f"n{index}" for index in range(20)]
RANDOM = np.random.default_rng(0)
TABLE = {name: [(Score.of(value),) for value in RANDOM.normal(size=20)] for name in ("params", "snip")}
TRUTH = [0.9 - 0.05 * arch.depth + 0.0001 * arch.width for arch in ARCHS]


def test_depth_that_hurts_is_learned_from_a_dozen_accuracies() -> None:
    accuracies = [value if index % 5 < 3 else None for index, value in enumerate(TRUTH)]
    found = known.rerank("acc", NAMES, ARCHS, TABLE, accuracies)
    assert (found.labels, found.used) == (12, True)
    expected = sorted((i for i in range(20) if i % 5 >= 3), key=lambda index: -TRUTH[index])
    depths = [ARCHS[NAMES.index(row.name)].depth for row in found.rows]
    assert depths == [ARCHS[index].depth for index in expected] == [1, 1, 2, 2, 3, 3, 4, 4]
    for row in found.rows:
        assert row.accuracy is not None
        assert row.low is not None
        assert row.high is not None
        assert row.low < row.accuracy < row.high
    assert f"{found.rows[0].name} is expected to be the best" in found.sentence


def test_with_few_accuracies_the_prior_orders_and_says_so() -> None:
    accuracies = [value if index < 5 else None for index, value in enumerate(TRUTH)]
    found = known.rerank("acc", NAMES, ARCHS, TABLE, accuracies)
    assert not found.used
    assert found.rows[0].accuracy is None
    assert "too few accuracies are known" in found.sentence


def test_the_verb_shows_it_first_and_refuses_columns_without_gaps(tmp_path: Path) -> None:
    rows = [
        {
            "name": f"n{width}",
            "arch": {"patch": 4, "width": width, "depth": 1, "heads": 1, "mlp": 4},
            "acc": 0.5,
        }
        | ({"half_acc": 0.5} if width < 8 else {})
        for width in (4, 6, 8)
    ]
    path = tmp_path / "nets.json"
    path.write_text(json.dumps(rows))
    asked = {"archs": [str(path)], "data": "noise:1x8x8/2", "batch": 4, "seeds": 1, "proxies": ["snip"]}
    flags, other = (Flags(runs=str(tmp_path / "runs"), name=name) for name in "xy")
    result = list(rank.run(rank.Config(**asked, known="half_acc"), flags))[-1]
    assert isinstance(result, Result)
    assert result.reranking is not None
    assert [row.name for row in result.reranking.rows] == ["n8"]
    first = next(iter(result.view()))
    assert getattr(first, "text", "").startswith("n8 is first by the prior")
    other = Flags(runs=str(tmp_path / "runs"), name="y")
    for column, said in (("acc", "all 3 accuracies are known"), ("ac", "did you mean 'acc'")):
        with pytest.raises(UserError, match=said):
            list(rank.run(rank.Config(**asked, known=column), other))
    with pytest.raises(UserError, match="only a table"):
        list(rank.run(rank.Config(archs=["mnist"], known="acc"), other))
