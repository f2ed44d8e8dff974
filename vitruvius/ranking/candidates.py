"""Which networks are ranked: a table of architectures, presets by name, or a user's own modules. No accuracies here."""

from collections.abc import Sequence

from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset
from vitruvius.ranking import user_models as own
from vitruvius.ranking.score import Network


def networks(words: Sequence[str], data: Dataset, batch: int = 1) -> dict[str, Network]:
    """The networks that `--archs` names, for the images of these data, so many at a time."""
    if any(word.endswith(".py") or ".py:" in word for word in words):
        if len(words) > 1:
            raise UserError(
                f"--archs {','.join(words)}: networks of your own stand alone, as in ./mine.py:models"
            )
        return {**own.networks(words[0])}
    if len(data.shape) != 3 or data.shape[1] != data.shape[2]:
        raise UserError(
            f"{data.name}: samples of shape {data.shape} are not square images; a ViT needs those"
        )
    try:
        found = _described(words, data)
    except UserError as error:
        shape = "x".join(map(str, data.shape))
        hint = (
            f"; {data.name} has images of {shape}: choose --data"
            if "does not divide image" in str(error)
            else ""
        )
        raise UserError(f"{error}{hint}") from None
    names: dict[Arch, str] = {}
    for index, (name, arch) in enumerate(found, 1):
        _must_fit(name, arch, data)
        try:
            cost.refuse_if_too_big(arch, batch)
        except UserError as error:
            raise UserError(f"entry {index}, {name}: {error}") from None
        if names.setdefault(arch, name) != name:
            raise UserError(f"{names[arch]} and {name} are the same network on the images of {data.name}")
    return dict(found)


def _described(words: Sequence[str], data: Dataset) -> list[tables.Named]:
    channels, side, _ = data.shape
    from_data = {"image": side, "channels": channels, "classes": len(data.classes)}
    path = tables.file(words)
    if path is not None:
        return tables.networks(path, **from_data)
    return [tables.Named(name, tables.arch(name, (), **from_data)) for name in words]


def _must_fit(name: str, arch: Arch, data: Dataset) -> None:
    channels, side, _ = data.shape
    if (arch.channels, arch.image) != (channels, side) or arch.classes < len(data.classes):
        raise UserError(
            f"{name} takes {arch.channels}x{arch.image}x{arch.image} images of {arch.classes} classes, "
            f"{data.name} has {channels}x{side}x{side} images of {len(data.classes)} classes"
        )
