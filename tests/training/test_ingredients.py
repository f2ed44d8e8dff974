"""The ingredients of a recipe inside the loop: parts equal the whole, averages are kept, patience ends it."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from vitruvius import optimisers
from vitruvius.arch.arch import Arch
from vitruvius.core.records import Note
from vitruvius.nn.vit import build
from vitruvius.objectives.classify import classify
from vitruvius.training import loop
from vitruvius.training.average import Average
from vitruvius.training.batches import Batches
from vitruvius.training.loop import Job
from vitruvius.training.recipe import Augment, Mixing, Recipe, Sampling
from vitruvius.training.results import Epoch

ARCH = Arch(image=8, patch=4, width=8, depth=2, heads=2, mlp=8, classes=2, layer_scale=0.1)
X = torch.randint(256, (30, 1, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
Y = (torch.arange(30) % 3 == 0).long()


def job(layer_decay: float = 1.0, **recipe: object) -> Job:
    chosen = {"mixing": Mixing(mixup=0.5, cutmix=0.5), "sampling": Sampling(repeat=2, balance="sampling")}
    augment = Augment(shift=1, randaugment=5, erase=0.5)
    train = Batches(X, Y, dtype=torch.float64, seed=3, augment=augment, **chosen)  # type: ignore[arg-type]
    model = build(ARCH, seed=0).double()
    settings = Recipe(**{"epochs": 2, "batch": 8, "lr": 0.01, "warmup": 2, "clip": 0.0, **recipe})
    optimiser = optimisers.build("adamw", model, 0.01, 0.05, layer_decay)
    return Job(model, classify, train, Batches(X[:9], Y[:9], dtype=torch.float64), settings, optimiser)


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("parts", [2, 3])
def test_mixed_and_repeated_parts_equal_the_whole_batch(parts: int) -> None:
    whole, cut = job(), job(accumulate=parts)
    for work in (whole, cut):
        list(loop.run(work))
    torch.testing.assert_close(weights(whole.model), weights(cut.model), rtol=1e-12, atol=1e-12)


def test_the_averaged_weights_are_evaluated_and_kept() -> None:
    work = job(epochs=1)
    work.average = Average(work.model, 0.9)
    (record,) = [record for record in loop.run(work) if isinstance(record, Epoch)]
    averaged = build(ARCH, seed=1).double()
    averaged.load_state_dict(loop.kept_weights(work))
    assert record.val_loss != loop.evaluate(work, work.validation)[0]
    assert record.val_loss == loop.evaluate(replace(work, model=averaged), work.validation)[0]
    assert not torch.equal(weights(averaged), weights(work.model))


def test_a_training_without_a_better_epoch_ends_and_counts_as_finished() -> None:
    work = job(epochs=50, lr=1e-30)
    work.patience = 3
    records = list(loop.run(work))
    assert [record.epoch for record in records if isinstance(record, Epoch)] == [1, 2, 3, 4]
    assert any("stopped early after 4 epochs" in note.text for note in records if isinstance(note, Note))
    assert work.is_finished
    assert not [record for record in loop.run(work) if isinstance(record, Epoch)]  # also after a resume
    work.patience = 5
    assert not work.is_finished


def test_each_layer_learns_more_slowly_than_the_one_above_it() -> None:
    work = job(layer_decay=0.5, schedule="constant", warmup=0)
    loop.step(work, work.train.order(0)[:8])
    names = {id(parameter): name for name, parameter in work.model.named_parameters()}
    rates = {names[id(p)]: group["lr"] for group in work.optimiser.param_groups for p in group["params"]}
    assert rates["head.weight"] == rates["norm.bias"] == 0.01
    assert rates["layers.1.scale2"] == pytest.approx(0.005)
    assert rates["layers.0.mlp.0.weight"] == pytest.approx(0.0025)
    assert rates["patch_map.weight"] == rates["class_token"] == rates["positions"] == pytest.approx(0.00125)
    assert len(rates) == len(names)
    decays = {names[id(p)]: g["weight_decay"] for g in work.optimiser.param_groups for p in g["params"]}
    assert {name for name, decay in decays.items() if decay} == {
        name for name in names.values() if name.endswith("weight") and "norm" not in name
    }


def test_frozen_layers_keep_their_bits_and_the_others_learn() -> None:
    work = job()
    assert isinstance(work.model, nn.Module)
    net = build(ARCH, seed=0).double()
    net.freeze(1)
    work.model, work.optimiser = net, optimisers.build("adamw", net, 0.01, 0.05)
    before = {name: value.clone() for name, value in net.state_dict().items()}
    list(loop.run(work))
    same = {name for name, value in net.state_dict().items() if torch.equal(value, before[name])}
    frozen = {
        name for name in before if name.startswith(("layers.0.", "patch_map", "class_token", "positions"))
    }
    assert same == frozen
    untouched = build(ARCH, seed=0)
    untouched.freeze(0)
    assert all(parameter.requires_grad for parameter in untouched.parameters())


@pytest.mark.parametrize("chance", [0.0, 0.4, 1.0])
def test_boxes_of_noise_have_their_probability_and_their_area(chance: float) -> None:
    x = torch.full((3000, 1, 20, 20), 300.0)
    from vitruvius.training import augment

    chosen = Augment(erase=chance) if chance else Augment(shift=0, erase=1e-9)
    draws = augment.draw(0, 1, 3000, chosen)
    erased = augment.apply(x, torch.arange(3000), draws, chosen)
    area = (erased != 300).float().mean((1, 2, 3))
    touched = area > 0
    assert touched.float().mean().item() == pytest.approx(chance, abs=0.04)
    if chance:
        assert area[touched].min() > 0.01
        assert area[touched].max() < 0.4
        assert area[touched].mean().item() == pytest.approx(0.175, abs=0.02)
        corners = erased[touched][:50, 0] != 300
        for box in corners:  # a rectangle: rows times columns
            assert box.sum() == box.any(0).sum() * box.any(1).sum()
    assert torch.equal(augment.apply(x, torch.arange(3000), draws, chosen), erased)
