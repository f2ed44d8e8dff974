"""The table of the fifty: what it says of itself, and that its numbers come from a run anybody can repeat."""

import pytest
import torch

from benchmarks import fifty
from vitruvius import Arch
from vitruvius.arch import cost
from vitruvius.core import files, runs

CAPABILITY = "AVX512"
"""Vector instructions of the machine that trained the fifty; others round differently."""


def test_the_networks_are_those_of_the_stated_seed() -> None:
    rows = files.read_json(fifty.TABLE)["archs"]
    drawn = [(group, arch.model_dump(mode="json", exclude_unset=True)) for group, arch in fifty.draw()]
    assert [(row["group"], row["arch"]) for row in rows] == drawn


def test_every_accuracy_is_that_of_a_recorded_training() -> None:
    recorded = {(line["name"], line["seed"]): line["accuracy"] for line in files.read_lines(fifty.RESULTS)}
    for row in files.read_json(fifty.TABLE)["archs"]:
        assert row["accuracies"] == [
            recorded[row["name"], seed] for seed in fifty.SEEDS if (row["name"], seed) in recorded
        ]


def test_any_two_networks_of_a_group_are_within_ten_percent() -> None:
    sizes: dict[int, list[int]] = {}
    for row in files.read_json(fifty.TABLE)["archs"]:
        sizes.setdefault(row["group"], []).append(cost.cost(Arch(**row["arch"])).params)
    assert all(max(found) <= 1.1 * min(found) for found in sizes.values())


@pytest.mark.slow
def test_training_the_smallest_again_gives_its_accuracy() -> None:
    """Needs the 60,000 images of Fashion-MNIST where data sets are found, or a network to fetch them."""
    nets = dict(zip(fifty.names(), fifty.draw(), strict=True))
    name = min(nets, key=lambda name: cost.cost(nets[name][1]).params)
    before = next(
        line for line in files.read_lines(fifty.RESULTS) if (line["name"], line["seed"]) == (name, 0)
    )
    found = fifty.train(name, nets[name][1], 0, None)
    if before["versions"] == runs.environment() and torch.backends.cpu.get_cpu_capability() == CAPABILITY:
        assert found["weights_sha256"] == before["weights_sha256"]
        assert found["accuracy"] == before["accuracy"]
    else:
        assert found["accuracy"] == pytest.approx(before["accuracy"], abs=0.01)
