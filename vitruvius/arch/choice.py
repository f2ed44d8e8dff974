"""The choice of a network: `--arch NAME|FILE.json|auto` and `--set field=value`, fitted to the data."""

from typing import Any, ClassVar, Protocol

from vitruvius.arch import auto, tables
from vitruvius.arch.arch import Arch
from vitruvius.arch.cost import refuse_if_too_big
from vitruvius.core.config import Part, Settings, settings
from vitruvius.core.errors import UserError, unknown


class Images(Protocol):
    """The facts about data that decide the network; a `Dataset` has them."""

    @property
    def name(self) -> str: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def classes(self) -> tuple[str, ...]: ...
    @property
    def images(self) -> int: ...


class ArchChoice(Part):
    """The network, by name or file, with changed fields."""

    group: ClassVar[str] = "network"
    arch: str = "mnist"
    """A preset (`vitruvius list presets`), a FILE.json with fields as in --set, a folder of transformers or
    timm, or auto: chosen for the data, as it is for your own images unless you name another."""
    set: Settings = ()
    """Change fields of the network: patch, width, depth, heads, head_dim, mlp, pooling, dropout, ...
    (docs/networks.md lists all, and the format of FILE.json)."""

    def refuse_unknown(self) -> None:
        """Refuse a name of no network, and a field that no network has, before any data are read."""
        for field in settings(self.set):
            if field not in Arch.model_fields:
                raise unknown("field in Arch", field, Arch.model_fields)
        if self.arch != "auto":
            tables.refuse_unknown(self.arch)

    def resolve(self, data: Images, batch: int = 0, labelled: bool = True, **defaults: Any) -> Arch:
        """Return the network for these data; refuse one that takes other images or does not fit into memory.

        `batch`: images trained at a time (0: only the weights must fit); `labelled`: whether the number of
        classes must fit too; `defaults`: fields that `--arch` and `--set` may change.
        """
        try:
            arch = self._chosen(data, **sizes(data), **defaults)
        except UserError as error:
            is_patch = "does not divide image" in str(error)
            cure = "; --arch auto chooses, or --set patch=SIDE" if is_patch else ""
            raise UserError(f"{error}{cure}") from None
        refuse_misfit(arch, data, labelled=labelled)
        refuse_if_too_big(arch, batch)
        return arch

    def _chosen(self, data: Images, **fields: Any) -> Arch:
        """Return the network by name, file, folder or rule."""
        if self.arch != "auto":
            return tables.arch(self.arch, self.set, **fields)
        return Arch(**{**fields, **auto.network(fields["image"], data.images), **settings(self.set)})


def sizes(data: Images) -> dict[str, int]:
    """Return the fields of an Arch that the data decide; refuse data that are not square images."""
    shape = data.shape
    if len(shape) != 3 or shape[1] != shape[2]:
        raise UserError(f"{data.name}: samples of shape {shape} are not square images; a ViT needs those")
    channels, side, _ = shape
    return {"image": side, "channels": channels, "classes": max(1, len(data.classes))}


def refuse_misfit(arch: Arch, data: Images, name: str = "the network", labelled: bool = True) -> None:
    """Refuse a network for images of another size or, for `labelled` data, for fewer classes."""
    channels, side, _ = data.shape
    same_images = (arch.channels, arch.image) == (channels, side)
    if same_images and (not labelled or arch.classes >= len(data.classes)):
        return
    takes, has = f"{arch.channels}x{arch.image}x{arch.image} images", f"{channels}x{side}x{side} images"
    if labelled:
        takes, has = f"{takes} of {arch.classes} classes", f"{has} of {len(data.classes)} classes"
    raise UserError(f"{name} takes {takes}, {data.name} has {has}")
