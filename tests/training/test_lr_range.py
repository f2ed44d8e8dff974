"""The range test: it finds the stable rates of a quadratic bowl, and leaves the training as it was."""

import pytest
import torch
from torch import nn

from vitruvius.core.errors import WorkFailed
from vitruvius.objectives import Batch, Loss
from vitruvius.training import lr_range
from vitruvius.training.batches import Batches
from vitruvius.training.loop import Job
from vitruvius.training.recipe import ClassifierSettings

OWN = """
import torch
def plain(groups, lr):
    return torch.optim.SGD(groups, lr=lr)
"""


class Bowl(nn.Module):
    """Half of c w^2: gradient descent is stable below a rate of 2 / c."""

    def __init__(self, curvature: float) -> None:
        super().__init__()
        self.curvature = curvature
        self.w = nn.Parameter(torch.ones(3, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.curvature * self.w.square().sum() / 2 + 0 * x.sum()


def bowl(model: nn.Module, batch: Batch, generator: torch.Generator | None) -> Loss:
    return Loss(model(batch.x))


@pytest.mark.parametrize("curvature", [10.0, 1000.0])
def test_the_chosen_rate_is_below_the_edge_of_stability_and_not_far(
    curvature: float, tmp_path: object
) -> None:
    path = f"{tmp_path}/plain.py"
    with open(path, "w") as file:
        file.write(OWN)
    settings = ClassifierSettings(optimiser=f"{path}:plain", batch=2, clip=0.0, weight_decay=0.0)
    model = Bowl(curvature)
    train = Batches(torch.zeros(4, 1, dtype=torch.float64), None, dtype=torch.float64)
    job = Job(model, bowl, train, train, settings, torch.optim.SGD(model.parameters(), lr=1.0))
    torch.manual_seed(5)
    random = torch.get_rng_state()
    test = lr_range.measure(job, settings)
    edge = 2 / curvature
    assert edge / 100 < test.chosen < edge
    assert len(test.rates) == len(test.losses)
    assert torch.equal(model.w, torch.ones(3, dtype=torch.float64))  # the job is untouched
    assert job.cursor.step == 0
    assert torch.equal(torch.get_rng_state(), random)
    assert lr_range.measure(job, settings) == test


def test_a_loss_that_is_no_number_is_told() -> None:
    with pytest.raises(WorkFailed, match="no number from the first step"):
        lr_range.choose([], [])
