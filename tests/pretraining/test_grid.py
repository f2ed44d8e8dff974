"""A grid trained as one against each autoencoder trained alone; what it remembers of an epoch."""

from typing import Any, Literal

import pytest
import torch

from vitruvius import optimisers
from vitruvius.core.errors import UserError
from vitruvius.nn.autoencoder import build
from vitruvius.objectives import Batch
from vitruvius.objectives.mask import mask
from vitruvius.objectives.reconstruct import reconstruct
from vitruvius.pretraining import autoencoders, grid
from vitruvius.pretraining.grid import Alone, Cell, Grid, Together
from vitruvius.pretraining.settings import Pretraining
from vitruvius.training import loop
from vitruvius.training.batches import Batches
from vitruvius.training.loop import Job
from vitruvius.training.recipe import Recipe
from vitruvius.training.results import Epoch

X = torch.randn(40, 6, generator=torch.Generator().manual_seed(1))


def settings(**fields: Any) -> Pretraining:
    common: dict[str, Any] = {"model": "mlp", "latent": (2, 3), "hidden": (5,), "repeats": 2, "l2": 0.01}
    return Pretraining(**common | {"batch": 10} | fields)


def grid_of(config: Pretraining, epochs: int = 1) -> Grid:
    """A grid that can keep the losses of so many epochs."""
    return Grid(autoencoders.dense(config, 6), epochs * len(X), 10)


def job(model: Grid, decay: bool = False, epochs: int = 3, accumulate: int = 1) -> Job:
    model.double()
    train = Batches(X, None, dtype=torch.float64)
    schedule: Literal["cosine", "constant"] = "cosine" if decay else "constant"
    recipe = Recipe(
        epochs=epochs, batch=10, accumulate=accumulate, lr=0.01, warmup=0, clip=0.0, schedule=schedule
    )
    return Job(
        model, grid.measure, train, Batches(X[:0], None), recipe, optimisers.build("adamw", model, 0.01, 0.0)
    )


def test_an_objective_without_corruption_trains_each_autoencoder_by_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr("vitruvius.objectives.denoise.corrupt")
    parts = autoencoders.dense(settings(objective=("denoise", "mask"), repeats=1), 6)
    assert [(type(part), {cell.objective for cell in part.cells}) for part in parts] == [
        *[(Together, {"mask"})] * 2,
        *[(Alone, {"denoise"})] * 2,
    ]


def test_a_grid_has_every_kind_and_repeats_start_alike_across_objectives() -> None:
    made = grid_of(settings())
    assert len(made.cells) == len(set(made.cells)) == 3 * 2 * 2
    first = {cell: model.state_dict()["encoder.0.weight"] for cell, model in made.models()}
    assert torch.equal(first[Cell("reconstruct", 2, 1)], first[Cell("mask", 2, 1)])
    assert not torch.equal(first[Cell("reconstruct", 2, 0)], first[Cell("reconstruct", 2, 1)])
    assert torch.equal(
        first[Cell("mask", 3, 1)], build(6, (5, 3), "relu", 227).state_dict()["encoder.0.weight"]
    )


def test_training_together_is_training_alone() -> None:
    """In float64, without randomness: the whole grid in one job, and each autoencoder in a job of its own."""
    asked = settings(objective=("reconstruct",))
    together = job(grid_of(asked, 3))
    list(loop.run(together))
    found = dict(together.model.models())  # type: ignore[operator]
    for cell in found:

        def measure(model: Any, batch: Batch, generator: Any) -> Any:
            return reconstruct(model, batch, generator, l2=asked.l2)

        model = build(6, (5, cell.latent), "relu", autoencoders.first_seed(asked, cell))
        list(loop.run(job_alone := job(Grid([Alone(cell, model, measure)], 3 * len(X), 10))))
        alone = next(job_alone.model.models())[1]  # type: ignore[operator]
        for ours, theirs in zip(found[cell].parameters(), alone.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("counted", ["all", "masked", "visible"])
def test_the_losses_of_a_stack_are_those_of_the_objectives(counted: str) -> None:
    cells = [Cell("reconstruct", 2, 0), Cell("mask", 2, 0)]
    models = [build(6, (2,), "relu", seed) for seed in range(2)]
    asked = settings(counted=counted, objective=("reconstruct", "mask"), latent=(2,), hidden=(), repeats=1)
    corruptions = [autoencoders.corruption(asked, cell.objective) for cell in cells]
    found = Together(cells, models, corruptions, 0.3).losses(Batch(X, None), torch.Generator().manual_seed(7))
    source = torch.Generator().manual_seed(7)
    expected = [
        reconstruct(models[0], Batch(X, None), source, l2=0.3).value,
        mask(models[1], Batch(X, None), source, share=0.25, counted=counted, l2=0.3).value,  # type: ignore[arg-type]
    ]
    torch.testing.assert_close(found, torch.stack(expected))


def test_evaluation_shows_clean_inputs_without_the_penalty() -> None:
    made = grid_of(settings(l2=5.0))
    losses = grid.validation_losses(made, Batches(X, None))
    for loss, (_, model) in zip(losses, made.models(), strict=True):
        assert loss == pytest.approx((model(X) - X).square().sum(1).mean().item(), rel=1e-5)


def test_the_losses_of_the_steps_are_remembered_until_they_are_asked_for() -> None:
    work = job(grid_of(settings()), epochs=1)
    made = work.model
    assert isinstance(made, Grid)
    list(loop.run(work))
    trace = made.take_losses()
    assert trace.shape == (4, 12)
    assert (trace > 0).all()
    assert made.take_losses().shape == (0, 12)
    restored = grid_of(settings())
    made.keep_losses(torch.arange(12.0), 10)
    restored.load_state_dict(made.state_dict())
    assert restored.take_losses().tolist() == [list(range(12))]


def test_the_losses_of_a_step_do_not_depend_on_the_parts_a_batch_is_cut_into() -> None:
    found = []
    for accumulate in (1, 3):
        work = job(grid_of(settings(objective=("reconstruct",), l2=0.0)), epochs=1, accumulate=accumulate)
        list(loop.run(work))
        assert isinstance(work.model, Grid)
        found.append(work.model.take_losses())
    assert found[0].shape == (4, 4)
    torch.testing.assert_close(*found, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("decay", [False, True])
def test_the_learning_rate_stays_or_falls(decay: bool) -> None:
    work = job(grid_of(settings(latent=(2,)), 3), decay=decay)
    rates = [record.lr for record in loop.run(work) if isinstance(record, Epoch)]
    assert (rates == [0.01] * 3) is not decay
    assert rates == sorted(rates, reverse=True)


def test_a_vit_that_could_hide_every_patch_is_refused() -> None:
    from vitruvius.arch.arch import Arch

    arch = Arch(image=8, patch=4, width=8, depth=1, heads=2, mlp=8)
    with pytest.raises(UserError, match="of 4 patches 0 to 3 can be hidden, not 4"):
        autoencoders.vit(Pretraining(model="vit", mask=0.9, decoder_width=8), arch)
