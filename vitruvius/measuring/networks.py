"""The networks that a measurement names: presets, files, runs."""

from pathlib import Path

from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.arch.tables import Named
from vitruvius.core import files, runs
from vitruvius.core.errors import UserError, unknown
from vitruvius.measuring.settings import MeasureSettings


def find(settings: MeasureSettings, folder: str) -> list[Named]:
    """Return the networks by name; refuse an unknown one, and one that does not fit into memory."""
    found = [named for word in settings.networks for named in _named(word, folder)]
    names = [named.name for named in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise UserError(f"{', '.join(twice)}: two networks of this name")
    for named in found:
        try:
            cost.refuse_if_too_big(named.arch, max(settings.batch) if settings.training else 0)
        except UserError as error:
            raise UserError(f"{named.name}: {error}") from None
        need, have = inference_bytes(named.arch, max(settings.batch)), cost.memory_bytes()
        if need > 0.9 * have:
            sizes = f"at least {need / 2**30:,.1f} GiB, this machine has {have / 2**30:,.1f} GiB"
            raise UserError(f"{named.name}: --batch {max(settings.batch)} does not fit: it needs {sizes}")
    return found


def inference_bytes(arch: Arch, batch: int) -> int:
    """Return what a forward pass holds in memory at least: weights, images, and the widest pair of layers."""
    found = cost.cost(arch)
    inner = max(layer.heads * layer.head_dim for layer in arch.layers)
    widest = max(arch.width, inner, *(layer.mlp for layer in arch.layers))
    per_image = arch.channels * arch.image**2 + arch.tokens * (arch.width + widest)
    return found.weight_bytes + cost.FLOAT * batch * per_image


def _named(word: str, folder: str) -> list[Named]:
    if word in tables.presets():
        return [Named(word, tables.presets()[word].arch)]
    if word.endswith(".json"):
        return tables.networks(Path(word))
    known = {path.parent.name for path in Path(folder).glob("train/*/config.json")}
    if not (Path(word) / "config.json").is_file() and word not in known:
        raise unknown("network", word, {*tables.presets(), *known}, "or a FILE.json")
    run = runs.find(word, "train", folder)
    about = files.read_json(runs.verify(run, "model.json"))
    if "arch" not in about:
        raise UserError(f"{run}: holds no Vision Transformer")
    return [Named(run.resolve().name, Arch(**about["arch"]))]
