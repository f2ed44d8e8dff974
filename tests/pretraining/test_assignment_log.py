"""The assignment's log: its fields, its published numbers, and curves in the shape it asks for."""

import pytest
import torch

from vitruvius.nn.autoencoder import Autoencoder
from vitruvius.pretraining import assignment_log
from vitruvius.pretraining.results import Point, Points
from vitruvius.pretraining.settings import Pretraining


def epochs(count: int = 2) -> list[Points]:
    """A run of two objectives, one latent size and two repeats, three steps an epoch."""
    kinds = [("reconstruct", 0), ("reconstruct", 1), ("mask", 0), ("mask", 1)]
    return [
        Points(
            epoch=epoch,
            points=tuple(
                Point(
                    objective=objective,
                    latent=5,
                    repeat=repeat,
                    val_loss=10.0 * index + epoch,
                    accuracy=0.5 + epoch / 10,
                    train_losses=tuple(100.0 * epoch + step for step in range(3)) if epoch else (),
                )
                for index, (objective, repeat) in enumerate(kinds)
            ),
        )
        for epoch in range(count + 1)
    ]


MLP = Pretraining(model="mlp", latent=(5,), objective=("mask", "denoise"), epochs=2)


def test_the_log_has_the_notebooks_fields() -> None:
    log = assignment_log.log(epochs(), MLP)
    assert set(log) == {
        *("time", "ae.0", "ae.1", "ae.2", "ae.3", "dae", "mae", "exp", "train1", "vis_fn", "train2"),
    }
    assert set(log["train1"]) == {"train_losses", "valid_losses", "accuracy"}
    assert set(log["train2"]) == {"train_loss", "valid_loss", "acc", "hparams", "build_model_fn"}
    assert log["vis_fn"].startswith("def curves(")
    assert log["train2"]["build_model_fn"].startswith("def build(")
    assert log["train2"]["hparams"]["hidden_dims"] == [256, 5]
    assert log["train2"]["hparams"]["ae_type"] == "masking"
    assert assignment_log.log(epochs(), Pretraining())["train2"] is None


def test_curves_are_lists_over_repeats_of_lists_over_time_and_accuracies_percent() -> None:
    found = assignment_log.log(epochs(), MLP)["train1"]
    assert set(found["accuracy"]) == {"vanilla.5", "masking.5"}
    assert found["train_losses"]["vanilla.5"] == [[100.0, 101.0, 102.0, 200.0, 201.0, 202.0]] * 2
    assert found["valid_losses"]["masking.5"] == [[20.0, 21.0, 22.0], [30.0, 31.0, 32.0]]
    assert found["accuracy"]["vanilla.5"][0] == pytest.approx([50, 60, 70])


def test_the_checks_are_those_of_a_fresh_autoencoder() -> None:
    before = torch.get_rng_state()
    found = assignment_log.checks()
    assert torch.equal(torch.get_rng_state(), before)
    assert found["ae.0"] == sorted(
        f"{part}.{layer}.{leaf}"
        for part in ("decoder", "encoder")
        for layer in (0, 2)
        for leaf in ("bias", "weight")
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(2017)
        model = Autoencoder(7, (5, 4))
        torch.manual_seed(2022)
        first, second = torch.randn(2, 7), torch.randn(2, 7)
    assert found["ae.1"] == model(second).flatten()[3:7].tolist()
    assert found["ae.2"] == pytest.approx((model(second) - second).square().sum().item() / 2)
    (model(first) - first).square().sum().div(2).backward()
    gradient = model.encoder[2].weight.grad
    assert isinstance(gradient, torch.Tensor)
    assert found["ae.3"] == pytest.approx(gradient.flatten()[11:15].tolist())
    assert [len(found[name]) for name in ("ae.1", "ae.3", "dae", "mae")] == [4] * 4


def test_the_published_accuracy_of_an_untrained_probe() -> None:
    assert assignment_log.chance_accuracy(2017) == 53.0
