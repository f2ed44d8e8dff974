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
    return found


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
