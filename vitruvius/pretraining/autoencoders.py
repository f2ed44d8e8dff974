"""Build the autoencoders that the settings ask for, with their objectives; save them and read them back."""

from functools import partial
from pathlib import Path
from typing import Any

from safetensors.torch import save as to_bytes
from torch import Generator, Tensor, nn

from vitruvius import objectives
from vitruvius.arch.arch import Arch
from vitruvius.core import files, plugins
from vitruvius.core.errors import UserError
from vitruvius.core.runs import RunFolder
from vitruvius.datasets import Dataset
from vitruvius.nn import autoencoder, masked
from vitruvius.nn.autoencoder import Autoencoder
from vitruvius.nn.masked import MaskedAutoencoder
from vitruvius.objectives import Batch, Loss
from vitruvius.pretraining.grid import Alone, Cell, Corrupt, Grid, Show, Together
from vitruvius.pretraining.results import SavedAutoencoder, SavedGrid
from vitruvius.pretraining.settings import Pretraining
from vitruvius.training import seeds

REPEAT_SEED = 227  # between the seeds of two repeats, as in the assignment


def dense(config: Pretraining, features: int) -> list[Together | Alone]:
    """Build fully connected autoencoders; those of one latent size share their matrix products."""
    repeats = range(config.repeats)
    cells = [Cell(o, latent, r) for latent in config.latent for o in config.objective for r in repeats]
    if len({cell.name for cell in cells}) < len(cells):
        raise UserError(f"--objective {','.join(config.objective)}: two of them have the same name")
    autoencoder.refuse_if_too_big([(features, *config.hidden, cell.latent) for cell in cells], config.batch)
    parts: list[Together | Alone] = []
    for latent in config.latent:
        shared = [cell for cell in cells if cell.latent == latent and not _is_loss_only(cell.objective)]
        if shared:
            models = [_dense(config, cell, features) for cell in shared]
            corruptions = [corruption(config, cell.objective) for cell in shared]
            parts.append(Together(shared, models, corruptions, config.l2))
    own = [cell for cell in cells if _is_loss_only(cell.objective)]
    parts += [Alone(cell, _dense(config, cell, features), objectives.get(cell.objective)) for cell in own]
    return parts


def vit(config: Pretraining, arch: Arch) -> list[Together | Alone]:
    """Build a masked autoencoder around a ViT."""
    cell = Cell(config.objective[0], arch.width, 0)
    decoder = masked.decoder_for(arch, config.decoder_width, config.decoder_depth)
    if cell.objective == "mask" and not masked.hidden_count(arch.patches, config.mask):
        raise UserError(f"mask {config.mask}: none of the {arch.patches} patches would be hidden")
    masked.refuse_if_too_big(arch, decoder, -(-config.batch // config.accumulate))
    model = masked.build(arch, decoder, config.normalise, first_seed(config, cell))
    options, objective = _options(config, cell.objective), objectives.get(cell.objective)
    penalty = {} if _is_loss_only(cell.objective) else {"l2": config.l2}

    def measure(model: nn.Module, batch: Batch, generator: Generator | None) -> Loss:
        if generator is None and cell.objective == "mask":
            # It never sees a whole image in training, so it is evaluated on masks too, always the same.
            return objective(model, batch, seeds.generator(config.seed, "validation"), **options)
        return objective(model, batch, generator, **options, **penalty)

    return [Alone(cell, model, measure, _show(config, cell.objective))]


def first_seed(config: Pretraining, cell: Cell) -> int:
    """Return the seed of an autoencoder's initial weights: every objective starts from the same ones."""
    return config.seed + REPEAT_SEED * cell.repeat


def corruption(config: Pretraining, objective: str) -> Corrupt:
    """Return the function that turns an input into what an objective shows of it in training."""
    return partial(plugins.module("objectives", objective).corrupt, **_options(config, objective))


def _options(config: Pretraining, objective: str) -> dict[str, Any]:
    """Return the keyword arguments that the settings give an objective."""
    if objective == "mask":
        return {"share": config.mask, "counted": config.counted}
    return {"noise": config.noise} if objective == "denoise" else {}


def _dense(config: Pretraining, cell: Cell, features: int) -> Autoencoder:
    activation = "identity" if config.model == "linear" else config.activation
    return autoencoder.build(features, (*config.hidden, cell.latent), activation, first_seed(config, cell))


def _is_loss_only(objective: str) -> bool:
    """Say whether an objective has only a loss, no `corrupt`: a user's own, or one that corrupts no input."""
    if ".py:" in objective:
        return True
    module = plugins.module("objectives", objective)
    if getattr(module, "NEEDS_LABELS", False):
        members = plugins.members("objectives")
        free = [name for name in members if not plugins.constant(members[name].path, "NEEDS_LABELS")]
        raise UserError(f"--objective {objective}: it needs labels; choose from {', '.join(free)}")
    return not hasattr(module, "corrupt")


def _show(config: Pretraining, objective: str) -> Show | None:
    """Return how a ViT's input and output are drawn: hidden patches blank, then filled in by the decoder."""
    if _is_loss_only(objective):
        return None
    corrupt = corruption(config, objective)

    def denoised(model: MaskedAutoencoder, x: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        seen = corrupt(x, generator).x
        return seen, model(seen)

    def filled(model: MaskedAutoencoder, x: Tensor, generator: Generator) -> tuple[Tensor, Tensor]:
        hidden = masked.hide(len(x), model.patches, config.mask, generator)
        return model.covered(x, hidden), model.covered(x, hidden, model.picture(x, hidden))

    return filled if objective == "mask" else denoised


def save(folder: RunFolder, config: Pretraining, data: Dataset, grid: Grid) -> None:
    """Write model.safetensors and model.json: every autoencoder under its name, or the encoder of a ViT."""
    first = next(grid.models())[1]
    if isinstance(first, MaskedAutoencoder):
        state = first.encoder.state_dict()
        tensors = {name: value for name, value in state.items() if not name.startswith("head.")}
        about = {"model": "vit", "arch": first.encoder.arch.model_dump(mode="json"), **data.labels}
    else:
        states = [(cell.name, model.state_dict()) for cell, model in grid.models()]
        tensors = {f"{cell}.{name}": value for cell, state in states for name, value in state.items()}
        seeded = [(cell, first_seed(config, cell)) for cell in grid.cells]
        about = SavedGrid(
            model=config.model,
            features=first.sizes[0],
            activation=first.activation,
            hidden=config.hidden,
            cells=tuple(SavedAutoencoder(**c._asdict(), name=c.name, seed=seed) for c, seed in seeded),
            **data.labels,
        ).model_dump(mode="json")
    weights = to_bytes({name: value.contiguous() for name, value in tensors.items()})
    files.write(folder.path("model.safetensors"), weights)
    files.write_json(folder.path("model.json"), about)


def read(about: SavedGrid, tensors: dict[str, Tensor], source: Path) -> dict[str, list[Autoencoder]]:
    """Return the autoencoders of a run by name, each followed by itself before training."""
    found = {}
    for cell in about.cells:
        shape = (about.features, (*about.hidden, cell.latent), about.activation)
        found[cell.name] = [autoencoder.build(*shape, cell.seed).eval() for _ in range(2)]
        prefix = f"{cell.name}."
        own = {name.removeprefix(prefix): t for name, t in tensors.items() if name.startswith(prefix)}
        try:
            found[cell.name][0].load_state_dict(own)
        except RuntimeError:
            raise UserError(f"{source}: the weights of {cell.name} are missing or of other sizes") from None
    return found
