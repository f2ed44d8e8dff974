"""A grid trained as one against each autoencoder trained alone; what it remembers of an epoch."""

from typing import Any

import pytest
import torch

from vitruvius import optimisers
from vitruvius.core.errors import UserError
from vitruvius.nn.autoencoder import build
from vitruvius.objectives import Batch
from vitruvius.objectives.mask import mask
from vitruvius.objectives.reconstruct import reconstruct
from vitruvius.pretraining import autoencoders, grid
from vitruvius.pretraining.autoencoders import Plan
from vitruvius.pretraining.grid import Alone, Cell, Grid, Together
from vitruvius.training import loop
from vitruvius.training.batches import Batches
from vitruvius.training.loop import Job
from vitruvius.training.recipe import Recipe

X = torch.randn(40, 6, generator=torch.Generator().manual_seed(1))


def plan(**fields: Any) -> Plan:
    settings: dict[str, Any] = {
        "objective": ("reconstruct", "denoise", "mask"),
        "model": "mlp",
        "latent": (2, 3),
        "hidden": (5,),
        "activation": "relu",
        "repeats": 2,
        "noise": 0.5,
        "mask": 0.25,
        "counted": "all",
        "normalise": False,
        "l2": 0.01,
        "seed": 0,
    }
    return Plan(**settings | fields)


def job(model: Grid, decay: bool = False, epochs: int = 3) -> Job:
    model.double()
    feed = Batches(X, None, dtype=torch.float64)
    recipe = Recipe(
        epochs=epochs, batch=10, lr=0.01, warmup=0, clip=0.0, schedule="cosine" if decay else "constant"
    )
    return Job(
        model, grid.measure, feed, Batches(X[:0], None), recipe, optimisers.build("adamw", model, 0.01, 0.0)
    )


def test_an_objective_without_corruption_trains_each_autoencoder_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr("vitruvius.objectives.denoise.corrupt")
    parts = autoencoders.dense(plan(objective=("denoise", "mask"), repeats=1), 6, 10)
    assert [(type(part), {cell.objective for cell in part.cells}) for part in parts] == [
        *[(Together, {"mask"})] * 2,
        *[(Alone, {"denoise"})] * 2,
    ]


def test_a_grid_has_every_kind_and_repeats_start_alike_across_objectives() -> None:
    made = Grid(autoencoders.dense(plan(), 6, 10), 4)
    assert len(made.cells) == len(set(made.cells)) == 3 * 2 * 2
    first = {cell: model.state_dict()["encoder.0.weight"] for cell, model in made.models()}
    assert torch.equal(first[Cell("reconstruct", 2, 1)], first[Cell("mask", 2, 1)])
    assert not torch.equal(first[Cell("reconstruct", 2, 0)], first[Cell("reconstruct", 2, 1)])
    assert torch.equal(
        first[Cell("mask", 3, 1)], build(6, (5, 3), "relu", 227).state_dict()["encoder.0.weight"]
    )


def test_training_together_is_training_alone() -> None:
    """In float64, without randomness: the whole grid in one job, and each autoencoder in a job of its own."""
    asked = plan(objective=("reconstruct",))
    together = job(Grid(autoencoders.dense(asked, 6, 10), 12))
    list(loop.run(together))
    found = dict(together.model.models())  # type: ignore[operator]
    for cell in found:

        def measure(model: Any, batch: Batch, generator: Any) -> Any:
            return reconstruct(model, batch, generator, l2=asked.l2)

        model = build(6, (5, cell.latent), "relu", asked.first_seed(cell))
        list(loop.run(job_alone := job(Grid([Alone(cell, model, measure)], 12))))
        alone = next(job_alone.model.models())[1]  # type: ignore[operator]
        for ours, theirs in zip(found[cell].parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("counted", ["all", "masked", "visible"])
def test_the_losses_of_a_stack_are_those_of_the_objectives(counted: str) -> None:
    cells = [Cell("reconstruct", 2, 0), Cell("mask", 2, 0)]
    models = [build(6, (2,), "relu", seed) for seed in range(2)]
    asked = plan(counted=counted, objective=("reconstruct", "mask"), latent=(2,), hidden=(), repeats=1)
    corruptions = [autoencoders._corruption(asked, cell.objective) for cell in cells]
    found = Together(cells, models, corruptions, 0.3).losses(Batch(X, None), torch.Generator().manual_seed(7))
    source = torch.Generator().manual_seed(7)
    expected = [
        reconstruct(models[0], Batch(X, None), source, l2=0.3).value,
        mask(models[1], Batch(X, None), source, share=0.25, counted=counted, l2=0.3).value,  # type: ignore[arg-type]
    ]
    torch.testing.assert_close(found, torch.stack(expected))


def test_evaluation_shows_clean_inputs_without_the_penalty() -> None:
    made = Grid(autoencoders.dense(plan(l2=5.0), 6, 10), 4)
    losses = grid.validation_losses(made, Batches(X, None))
    for loss, (_, model) in zip(losses, made.models(), strict=True):
        assert loss == pytest.approx((model(X) - X).square().sum(1).mean().item(), rel=1e-5)


def test_the_losses_of_the_steps_are_remembered_until_they_are_asked_for() -> None:
    work = job(Grid(autoencoders.dense(plan(), 6, 10), 4), epochs=1)
    made = work.model
    assert isinstance(made, Grid)
    list(loop.run(work))
    trace = made.forget()
    assert trace.shape == (4, 12)
    assert (trace > 0).all()
    assert made.forget().shape == (0, 12)
    restored = Grid(autoencoders.dense(plan(), 6, 10), 4)
    made.remember(torch.arange(12.0))
    restored.load_state_dict(made.state_dict())
    assert restored.forget().tolist() == [list(range(12))]


@pytest.mark.parametrize("decay", [False, True])
def test_the_learning_rate_stays_or_falls(decay: bool) -> None:
    work = job(Grid(autoencoders.dense(plan(latent=(2,)), 6, 10), 12), decay=decay)
    rates = [record.lr for record in loop.run(work) if isinstance(record, loop.Epoch)]
    assert (rates == [0.01] * 3) is not decay
    assert rates == sorted(rates, reverse=True)


def test_a_vit_that_could_hide_every_patch_is_refused() -> None:
    from vitruvius.arch.arch import Arch
    from vitruvius.nn.masked import decoder_for

    arch = Arch(image=8, patch=4, width=8, depth=1, heads=2, mlp=8)
    with pytest.raises(UserError, match="of 4 patches 0 to 3 can be hidden, not 4"):
        autoencoders.vit(plan(objective=("mask",), mask=0.9, repeats=1), arch, decoder_for(arch, 8, 1))
