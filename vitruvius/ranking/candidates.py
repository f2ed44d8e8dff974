"""The networks that are ranked: a table of architectures, presets by name, or a user's modules."""

from collections.abc import Callable, Sequence
from contextlib import suppress

from vitruvius.arch import choice, cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset
from vitruvius.ranking import user_models
from vitruvius.ranking.score import Network

SIDES = (28, 32, 48, 64, 96, 128, 224)
"""Sizes that are tried for pictures whose own size does not fit, in pixels."""


def networks(words: Sequence[str], data: Dataset, batch: int = 1) -> dict[str, Network]:
    """Return the networks that `--archs` names, for these data; refuse those too big for `batch` images."""
    if any(word.endswith(".py") or ".py:" in word for word in words):
        if len(words) > 1:
            why = "networks of your own stand alone, as in ./mine.py:models"
            raise UserError(f"--archs {','.join(words)}: {why}")
        return {**user_models.networks(words[0])}
    found = _described(words, data)
    names: dict[Arch, str] = {}
    for index, (name, arch) in enumerate(found, 1):
        choice.refuse_misfit(arch, data, name)
        try:
            cost.refuse_if_too_big(arch, batch)
        except UserError as error:
            raise UserError(f"entry {index}, {name}: {error}") from None
        if names.setdefault(arch, name) != name:
            raise UserError(f"{names[arch]} and {name} are the same network on the images of {data.name}")
    return dict(found)


def _described(words: Sequence[str], data: Dataset) -> list[tables.Named]:
    """Read the architectures; sizes that they leave open are those of the data."""
    sizes, path = choice.sizes(data), tables.file(words)

    def read(**sizes: int) -> list[tables.Named]:
        if path is not None:
            return tables.networks(path, **sizes)
        return [tables.Named(name, tables.arch(name, (), **sizes)) for name in words]

    try:
        return read(**sizes)
    except UserError as error:
        if "does not divide image" not in str(error):
            raise
        shape = "x".join(map(str, data.shape))
        cure = _cure(data.name, lambda side: read(**{**sizes, "image": side}))
        raise UserError(f"{error}; {data.name} has images of {shape}: {cure}") from None


def _cure(name: str, read: Callable[[int], object]) -> str:
    """Say how images of another size are had: pictures in files are read at any."""
    path, is_read_at_any_size, _ = name.rpartition("@")
    for side in SIDES if is_read_at_any_size else ():
        with suppress(UserError):
            read(side)
            return f"--data {path}@{side} reads them at a size that fits all"
    return "choose other --data or --archs"
