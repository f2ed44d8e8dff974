"""The assignment's log: its fields, its published numbers, and curves in the shape it asks for."""

from typing import Any

import pytest
import torch

from vitruvius.nn.autoencoder import Autoencoder
from vitruvius.pretraining import assignment_log as assignment


def records(epochs: int = 2) -> list[dict[str, Any]]:
    """A run of two objectives, one latent size and two repeats, three steps an epoch."""
    kinds = [("reconstruct", 0), ("reconstruct", 1), ("mask", 0), ("mask", 1)]
    return [
        {
            "kind": "points",
            "epoch": epoch,
            "points": [
                {
                    "objective": objective,
                    "latent": 5,
                    "repeat": repeat,
                    "val_loss": 10.0 * place + epoch,
                    "accuracy": 0.5 + epoch / 10,
                    "train_losses": [100.0 * epoch + step for step in range(3)] if epoch else [],
                }
                for place, (objective, repeat) in enumerate(kinds)
            ],
        }
        for epoch in range(epochs + 1)
    ]


CONFIG = {"model": "mlp", "batch": 100, "epochs": 2, "hidden": [256], "latent": [5], "activation": "relu"} | {
    "objective": ["mask", "denoise"],
    "lr": 0.001,
    "noise": 0.5,
    "mask": 0.25,
}


def test_the_log_has_the_notebooks_fields() -> None:
    log = assignment.log(records(), CONFIG, assignment.log)
    assert set(log) == {
        *("time", "ae.0", "ae.1", "ae.2", "ae.3", "dae", "mae", "exp", "train1", "vis_fn", "train2"),
    }
    assert set(log["train1"]) == {"train_losses", "valid_losses", "accuracy"}
    assert set(log["train2"]) == {"train_loss", "valid_loss", "acc", "hparams", "build_model_fn"}
    assert log["vis_fn"].startswith("def log(")
    assert log["train2"]["build_model_fn"].startswith("def build(")
    assert log["train2"]["hparams"]["hidden_dims"] == [256, 5]
    assert log["train2"]["hparams"]["ae_type"] == "masking"
    assert assignment.log(records(), {**CONFIG, "model": "linear"}, assignment.log)["train2"] is None


def test_curves_are_lists_over_repeats_of_lists_over_time_and_accuracies_percent() -> None:
    found = assignment.log(records(), CONFIG, assignment.log)["train1"]
    assert set(found["accuracy"]) == {"vanilla.5", "masking.5"}
    assert found["train_losses"]["vanilla.5"] == [[100.0, 101.0, 102.0, 200.0, 201.0, 202.0]] * 2
    assert found["valid_losses"]["masking.5"] == [[20.0, 21.0, 22.0], [30.0, 31.0, 32.0]]
    assert found["accuracy"]["vanilla.5"][0] == pytest.approx([50, 60, 70])


def test_the_checks_are_those_of_a_fresh_autoencoder() -> None:
    before = torch.get_rng_state()
    found = assignment.checks()
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
    assert assignment.chance_accuracy(2017) == 53.0
