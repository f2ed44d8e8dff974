"""The autoencoders that a config asks for: built, wired to their objectives, saved and read back."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from torch import Generator, Tensor, nn

from vitruvius import objectives
from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.core import plugins
from vitruvius.core.config import Settings
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset
from vitruvius.nn import autoencoder, masked
from vitruvius.nn.autoencoder import Autoencoder
from vitruvius.nn.masked import MaskedAutoencoder
from vitruvius.objectives import Batch, Loss
from vitruvius.pretraining.grid import Alone, Cell, Corrupt, Grid, Show, Together
from vitruvius.training import seeds

REPEAT_SEED = 227
"""Between the seeds of two repeats, as in the assignment."""


@dataclass(frozen=True)
class Plan:
    """What a grid is made of."""

    objective: tuple[str, ...]
    model: str  # linear, mlp or vit
    latent: tuple[int, ...]
    hidden: tuple[int, ...]
    activation: str
    repeats: int
    noise: float
    mask: float
    counted: str
    normalise: bool
    l2: float
    seed: int

    def options(self, objective: str) -> dict[str, Any]:
        """What the plan says about one objective."""
        known: dict[str, dict[str, Any]] = {
            "denoise": {"noise": self.noise},
            "mask": {"share": self.mask, "counted": self.counted},
        }
        return known.get(objective, {})

    def first_seed(self, cell: Cell) -> int:
        """The seed of a cell's first weights: every objective starts from the same ones."""
        return self.seed + REPEAT_SEED * cell.repeat


def dense(plan: Plan, features: int, batch: int) -> list[Together | Alone]:
    """Fully connected autoencoders: those of one latent size train together, own objectives each by themselves."""
    repeats = range(plan.repeats)
    cells = [Cell(o, latent, r) for latent in plan.latent for o in plan.objective for r in repeats]
    if len({cell.name for cell in cells}) < len(cells):
        raise UserError(f"--objective {','.join(plan.objective)}: two of them have the same name")
    autoencoder.refuse_if_too_big([(features, *plan.hidden, cell.latent) for cell in cells], batch)
    parts: list[Together | Alone] = []
    for latent in plan.latent:
        shared = [cell for cell in cells if cell.latent == latent and not _alone(cell.objective)]
        if shared:
            corruptions = [_corruption(plan, cell.objective) for cell in shared]
            parts.append(
                Together(shared, [_dense(plan, cell, features) for cell in shared], corruptions, plan.l2)
            )
    own = [cell for cell in cells if _alone(cell.objective)]
    return parts + [Alone(cell, _dense(plan, cell, features), objectives.get(cell.objective)) for cell in own]


def arch(name: str, changes: Settings, data: Dataset, batch: int) -> Arch:
    """The ViT for these images; its probe reads the mean of its patches, which the objective trains directly."""
    channels, side, _ = data.shape
    from_data = {"image": side, "channels": channels, "classes": max(1, len(data.classes)), "pooling": "mean"}
    found = tables.arch(name, changes, **from_data)
    if (found.channels, found.image) != (channels, side):
        raise UserError(
            f"the network takes {found.channels}x{found.image}x{found.image} images, "
            f"{data.name} has {channels}x{side}x{side} images"
        )
    cost.refuse_if_too_big(found, batch)
    return found


def vit(plan: Plan, arch: Arch, decoder: Arch) -> list[Together | Alone]:
    """A masked autoencoder around a ViT."""
    cell = Cell(plan.objective[0], arch.width, 0)
    if cell.objective == "mask" and not masked.hidden_count(arch.patches, plan.mask):
        raise UserError(f"mask {plan.mask}: none of the {arch.patches} patches would be hidden")
    model = masked.build(arch, decoder, plan.normalise, plan.first_seed(cell))
    options, objective = plan.options(cell.objective), objectives.get(cell.objective)
    weight = {} if _alone(cell.objective) else {"l2": plan.l2}

    def measure(model: nn.Module, batch: Batch, generator: Generator | None) -> Loss:
        if generator is None and cell.objective == "mask":
            # It never sees a whole image in training, so it is judged on masks too: the same ones every time.
            return objective(model, batch, seeds.generator(plan.seed, "validation"), **options)
        return objective(model, batch, generator, **options, **weight)

    return [Alone(cell, model, measure, _show(plan, cell.objective))]


def _dense(plan: Plan, cell: Cell, features: int) -> Autoencoder:
    activation = "identity" if plan.model == "linear" else plan.activation
    return autoencoder.build(features, (*plan.hidden, cell.latent), activation, plan.first_seed(cell))


def _alone(objective: str) -> bool:
    """Whether an objective is known by its loss alone: a user's own, or one that corrupts no input."""
    if ".py:" in objective:
        return True
    module = plugins.module("objectives", objective)
    if getattr(module, "NEEDS_LABELS", False):
        members = plugins.members("objectives")
        free = [name for name in members if not plugins.constant(members[name].path, "NEEDS_LABELS")]
        raise UserError(f"--objective {objective}: it needs labels; choose from {', '.join(free)}")
    return not hasattr(module, "corrupt")


def _corruption(plan: Plan, objective: str) -> Corrupt:
    return partial(plugins.module("objectives", objective).corrupt, **plan.options(objective))


def _show(plan: Plan, objective: str) -> Show | None:
    """How a ViT's input and answer are drawn: hidden patches blank, then filled in by its prediction."""
    if _alone(objective):
        return None
    corrupt = _corruption(plan, objective)
    if objective != "mask":

        def denoised(model: nn.Module, x: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
            seen = corrupt(x, generator).x
            return seen, model(seen)

        return denoised

    def filled(model: nn.Module, x: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        assert isinstance(model, MaskedAutoencoder)
        places = masked.hide(len(x), model.patches, plan.mask, generator)
        return model.covered(x, places), model.covered(x, places, model.picture(x, places))

    return filled


def weights(grid: nn.Module) -> dict[str, Tensor]:
    """What a run keeps: every autoencoder under its name, or of a ViT the encoder alone, ready to be fine-tuned."""
    assert isinstance(grid, Grid)
    found: dict[str, Tensor] = {}
    for cell, model in grid.models():
        if isinstance(model, MaskedAutoencoder):
            state = model.encoder.state_dict()
            return {name: value.contiguous() for name, value in state.items() if not name.startswith("head.")}
        found |= {f"{cell.name}.{name}": value.contiguous() for name, value in model.state_dict().items()}
    return found


def described(plan: Plan, grid: nn.Module) -> dict[str, Any]:
    """What belongs to the weights: how each autoencoder is built again."""
    assert isinstance(grid, Grid)
    first = next(grid.models())[1]
    if isinstance(first, MaskedAutoencoder):
        return {"model": "vit", "arch": first.encoder.arch.model_dump(mode="json")}
    assert isinstance(first, Autoencoder)
    common = {"model": plan.model, "features": first.sizes[0], "activation": first.activation}
    cells = [{**cell._asdict(), "name": cell.name, "seed": plan.first_seed(cell)} for cell in grid.cells]
    return {**common, "hidden": list(plan.hidden), "cells": cells}


def read(
    about: dict[str, Any], tensors: dict[str, Tensor], source: Path
) -> dict[str, tuple[Autoencoder, Autoencoder]]:
    """The autoencoders of a run by name, each beside itself as it was before training."""
    found = {}
    for cell in about["cells"]:
        widths = (*about["hidden"], cell["latent"])
        first = autoencoder.build(about["features"], widths, about["activation"], cell["seed"])
        trained = autoencoder.build(about["features"], widths, about["activation"], cell["seed"])
        prefix = f"{cell['name']}."
        state = {
            name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)
        }
        try:
            trained.load_state_dict(state)
        except RuntimeError:
            raise UserError(
                f"{source}: the weights of {cell['name']} are missing or of other sizes"
            ) from None
        found[cell["name"]] = (trained.eval(), first.eval())
    return found
