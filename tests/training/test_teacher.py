"""Distillation: the loss in float64 against its definition, and where its minimum lies."""

import pytest
import torch
from torch import Generator, nn

from vitruvius.objectives import Batch
from vitruvius.objectives.classify import classify, distillation


@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_the_loss_is_the_divergence_from_the_teacher(temperature: float) -> None:
    student, teacher = torch.randn(2, 5, 3, dtype=torch.float64, generator=Generator().manual_seed(0))
    p, q = (student / temperature).softmax(1), (teacher / temperature).softmax(1)
    wanted = temperature**2 * (q * (q.log() - p.log())).sum(1).mean()
    torch.testing.assert_close(distillation(student, teacher, temperature), wanted)
    assert distillation(teacher, teacher, temperature).abs() < 1e-12


def test_labels_and_teacher_share_the_loss_and_evaluation_knows_no_teacher() -> None:
    scores = torch.randn(4, 3, dtype=torch.float64)
    wanted = torch.randn(4, 2, dtype=torch.float64)  # of the two classes that the data have
    batch = Batch(scores, torch.tensor([0, 1, 1, 0]))
    options = {"teacher": lambda x: wanted, "teacher_share": 0.3, "temperature": 2.0}
    found = classify(nn.Identity(), batch, Generator(), **options).value  # type: ignore[arg-type]
    plain = classify(nn.Identity(), batch, None).value
    torch.testing.assert_close(found, 0.7 * plain + 0.3 * distillation(scores[:, :2], wanted, 2.0))
    assert torch.equal(classify(nn.Identity(), batch, None, **options).value, plain)  # type: ignore[arg-type]
