"""Search spaces: which networks a search may draw, as data. A member is a JSON file; its name is the file's.

A space has choices for each field of an `Arch`: a list, or `{"first", "last", "step"}`. The fields in
`per_layer` are chosen for every layer anew. `mlp_ratio` stands for `mlp`, int(width x ratio), as in public
tables; without `head_dim` a head is width / heads wide, and only heads that divide the width are drawn.
`fixed` holds the other fields of the network, `constraints` the bounds of derived quantities. A user's own is
named by file: `--space ./mine.json`.

Laws, tested over the folder: each is described and counted, and its networks obey its constraints.
"""

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from vitruvius.arch.arch import Arch
from vitruvius.core import files
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError, unknown

FOLDER = Path(__file__).parent
NEEDED = ("patch", "width", "depth", "heads", "mlp_ratio")
MOST_CHOICES = 10_000
Positive = Annotated[float, Field(gt=0, le=2**20)]
Layered = Literal["heads", "head_dim", "mlp_ratio"]
ChosenField = Literal["patch", "width", "depth", "heads", "head_dim", "mlp_ratio"]
Quantity = Literal["tokens", "attention_ratio"]
"""Tokens of the encoder; heads x head_dim over the width, in every layer."""


class Range(Strict):
    """Equally spaced choices, both ends included."""

    first: Positive
    last: Positive
    step: Positive

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.last < self.first:
            raise ValueError(f"last {self.last:g} is below first {self.first:g}")
        if (self.last - self.first) / self.step > MOST_CHOICES:
            raise ValueError(f"more than {MOST_CHOICES:,} choices from {self.first:g} to {self.last:g}")
        return self

    @property
    def values(self) -> tuple[float, ...]:
        """Return the choices.

        >>> Range(first=8, last=32, step=8).values
        (8.0, 16.0, 24.0, 32.0)
        """
        count = int((self.last - self.first) / self.step + 1e-9) + 1
        return tuple(self.first + index * self.step for index in range(count))


class Bounds(Strict):
    """The smallest and the largest value that a quantity may have."""

    least: float = 0.0
    most: float


Choices = Annotated[tuple[Positive, ...], Field(min_length=1, max_length=MOST_CHOICES)] | Range


class Space(Strict):
    """Choices per field, which of them are made for every layer, fixed fields and constraints."""

    summary: str = ""
    images: tuple[int, int] = (1, 8192)
    """The smallest and the largest side of the images for which it is meant."""
    choices: dict[ChosenField, Choices] = {}
    per_layer: tuple[Layered, ...] = ()
    fixed: dict[str, Any] = {}
    constraints: dict[Quantity, Bounds] = {}
    missing: str = ""
    """What the networks need that this package does not build; such a space is listed and cannot be drawn."""
    public: dict[str, Any] = {}
    """The choices of a space that is not built, as its authors write them."""
    networks: int | None = None
    """Their number, where it does not follow from `choices`."""

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        if self.missing:
            return self
        absent = [field for field in NEEDED if field not in self.choices]
        if absent:
            raise ValueError(f"choices: {', '.join(absent)} {'is' if len(absent) == 1 else 'are'} missing")
        for field in ("patch", "width", "depth", "heads", "head_dim"):
            if odd := [value for value in self.values(field) if value != int(value)]:
                raise ValueError(f"choices: {field} needs whole numbers, got {odd[0]:g}")
        if strange := [field for field in self.per_layer if field not in self.choices]:
            raise ValueError(f"per_layer: {strange[0]} has no choices")
        if clash := [field for field in self.fixed if field in {*self.choices, "mlp", "image", "channels"}]:
            raise ValueError(f"fixed: {clash[0]} is chosen or comes from the data")
        Arch(**{**self.fixed, "class_token": self.fixed.get("class_token", True)})
        if not any(self.heads_for(width) for width in self.values("width")):
            raise ValueError("choices: no choice of heads divides any choice of width")
        return self

    def values(self, field: str) -> tuple[float, ...]:
        """Return the choices of a field, without repetitions, in order; none for a field without choices."""
        found = self.choices.get(field, ())  # type: ignore[call-overload]
        values = found.values if isinstance(found, Range) else found
        return tuple(sorted(set(values)))

    def patches(self, image: int | None) -> tuple[int, ...]:
        """Return the patch sides that divide an image, or all."""
        sides = [int(side) for side in self.values("patch")]
        return tuple(side for side in sides if image is None or image % side == 0)

    def heads_for(self, width: float) -> tuple[int, ...]:
        """Return the numbers of heads that a network of this width may have."""
        counts = [int(count) for count in self.values("heads")]
        is_free = "head_dim" in self.choices or "head_dim" in self.fixed
        return tuple(count for count in counts if is_free or width % count == 0)

    def choices_for(self, width: float) -> dict[str, int]:
        """Return how many choices there are for heads, head_dim and mlp_ratio at a width."""
        return {
            "heads": len(self.heads_for(width)),
            "head_dim": max(1, len(self.values("head_dim"))),
            "mlp_ratio": len(self.values("mlp_ratio")),
        }

    def count(self, image: int | None = None) -> int:
        """Return the number of networks, before constraints and budget."""
        if self.networks is not None:
            return self.networks
        return len(self.patches(image)) * sum(self.cells.values())

    @cached_property
    def cells(self) -> dict[tuple[int, int], int]:
        """Return, for each width and depth, how many networks there are with one patch side."""
        found = {}
        for width in self.values("width"):
            for depth in map(int, self.values("depth")):
                number = 1
                for field, choices in self.choices_for(width).items():
                    number *= choices ** (depth if field in self.per_layer else 1)
                found[int(width), depth] = number
        return {cell: number for cell, number in found.items() if number}

    def arch(self, fields: Mapping[str, Any], **sizes: int) -> Arch:
        """Return the network with these sizes, the fixed fields and what the data decide."""
        return Arch(**{**self.fixed, **sizes, **fields})


def names() -> list[str]:
    """Return the names of the spaces that ship with the package."""
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def get(name: str) -> Space:
    """Return a space by name, or a user's own from FILE.json; unknown names and faults are refused."""
    if name.endswith(".json"):
        path = Path(name)
    elif name in names():
        path = FOLDER / f"{name}.json"
    else:
        raise unknown("space", name, names(), "or a file: NAME.json")
    return files.typed(path, Space, files.read_object(path, "a search space"))


def drawable(name: str, image: int) -> Space:
    """Return a space that has networks for images of this side; refuse one that has none."""
    space = get(name)
    if space.missing:
        known = ", ".join(other for other in names() if not get(other).missing)
        raise UserError(f"space {name}: its networks need {space.missing}; choose from {known}")
    if not space.patches(image):
        sides = ", ".join(str(int(side)) for side in space.values("patch"))
        raise UserError(
            f"space {name} is empty for images of {image} pixels: no patch side ({sides}) divides them"
        )
    return space


def default_for(image: int) -> str:
    """Return the name of the space that is meant for images of this side.

    >>> default_for(28), default_for(96)
    ('small', 'photo')
    """
    return "small" if image <= get("small").images[1] else "photo"
