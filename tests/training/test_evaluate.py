"""The score of a classifier: with very many classes it is counted without a matrix of all pairs."""

import pytest
import torch
from torch import nn

from vitruvius.datasets import Dataset, Split
from vitruvius.training import card, evaluate
from vitruvius.training.batches import Batches, batches_of


def images(labels: list[int]) -> Batches:
    x = torch.zeros(len(labels), 1, 2, 2, dtype=torch.uint8)
    x[:, 0, 0, 0] = torch.arange(len(labels), dtype=torch.uint8)
    part = Split(x, torch.tensor(labels))
    return batches_of(Dataset("toy", part, part, part, ("a", "b"), (0.0,), (1.0,), ""), part)


class Says(nn.Module):
    """A classifier that gives the classes it was told, by the first pixel."""

    def __init__(self, said: list[int], classes: int) -> None:
        super().__init__()
        self.said, self.classes = torch.tensor(said), classes

    def forward(self, x_BCHW: torch.Tensor) -> torch.Tensor:
        said_B = self.said[(x_BCHW[:, 0, 0, 0] * 255).round().long()]
        return torch.zeros(len(x_BCHW), self.classes).scatter_(1, said_B[:, None], 3.0)


def test_without_a_matrix_the_counts_of_each_class_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    labels, said, names = [0, 1, 2, 2, 1, 0, 2], [0, 2, 2, 1, 1, 1, 0], ("a", "b", "c")
    model = Says(said, 3)
    matrix = evaluate.score(model, images(labels), names, size=3)
    assert matrix.confusion == ((1, 1, 0), (0, 1, 1), (1, 1, 1))
    monkeypatch.setattr(evaluate, "MATRIX_CLASSES", 2)
    counted = evaluate.score(model, images(labels), names, size=3)
    assert counted.confusion == ()
    assert counted.counts == matrix.counts == ((2, 1, 2), (2, 1, 3), (3, 1, 2))
    assert (counted.images, counted.interval) == (matrix.images, matrix.interval)
    assert card.class_table(names, counted) == card.class_table(names, matrix)


def test_a_hundred_thousand_classes_are_scored_and_shown_without_80_gigabytes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    zeros = torch.zeros

    def small(*shape: int, **options: torch.dtype) -> torch.Tensor:
        assert torch.Size(shape).numel() < 10**7, "a matrix of all pairs of classes is made"
        return zeros(*shape, **options)  # type: ignore[call-overload]

    monkeypatch.setattr(torch, "zeros", small)
    names = tuple(map(str, range(99_999)))
    score = evaluate.score(Says([0, 99_998], 99_999), images([0, 7]), names)
    assert (score.accuracy, score.images) == (0.5, 2)
    table = card.class_table(names, score)
    assert table.title == "The first 1,000 of 99,999 classes"
    assert len(table.rows) == 1000
