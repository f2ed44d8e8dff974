"""`Arch`, a network as data: the one description of a Vision Transformer for functions and files."""

from functools import cached_property
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    BeforeValidator,
    Field,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from vitruvius.core.config import Strict
from vitruvius.core.counted import counted
from vitruvius.core.errors import unknown
from vitruvius.core.plugins import members

Count = Annotated[int, Field(ge=1, le=2**20)]
PerLayer = Annotated[Count | tuple[Count, ...], BeforeValidator(lambda value: _collapse(value))]
"""One value for all layers, or one per layer; equal values collapse, so that equal networks are equal."""
Channels = Annotated[
    tuple[Count, ...], BeforeValidator(lambda given: (given,) if isinstance(given, int) else given)
]


class Layer(NamedTuple):
    """The sizes that may differ from layer to layer."""

    heads: int
    head_dim: int
    mlp: int


class Arch(Strict):
    """A Vision Transformer (Dosovitskiy et al. 2021): patches, a pre-norm encoder, a linear head."""

    image: Annotated[int, Field(ge=1, le=8192)] = 28
    """Side of the square image in pixels."""
    channels: Annotated[int, Field(ge=1, le=4096)] = 1
    classes: Count = 10
    patch: Annotated[int, Field(ge=1, le=8192)] = 7
    """Side of a patch in pixels."""
    stem: Channels = ()
    """Channels of 3x3 convolutions before the patches are cut: the last ones halve the image as often as the
    patch can be halved, others keep its size; none by default."""
    width: Annotated[int, Field(ge=1, le=2**17)] = 64
    """Length of a token's vector."""
    depth: Annotated[int, Field(ge=1, le=4096)] = 6
    """Number of encoder layers."""
    heads: PerLayer = 8
    head_dim: PerLayer | None = None
    """Query, key and value width of one head; default: width // heads."""
    mlp: PerLayer = 128
    """Hidden width of the feed-forward part."""
    activation: Literal["gelu", "gelu_tanh", "relu", "silu"] = "gelu"
    norm_eps: Annotated[float, Field(gt=0, lt=1)] = 1e-6
    class_token: bool = True
    pooling: Literal["cls", "mean"] = "cls"
    """The input of the head: the class token, or the mean of the patch tokens."""
    final_norm: Literal["tokens", "pooled"] = "tokens"
    """Where the last norm stands: on every token before the pooling, or on the pooled vector after it."""
    positions: Literal["learned", "sinusoidal", "none"] = "learned"
    qkv_bias: bool = False
    out_bias: bool = True
    init: Literal["torch", "public"] = "torch"
    """Initial weights: PyTorch's with unit-normal class token and positions, or the 0.02 of public ViTs."""
    kernel: str = "softmax"
    """The attention kernel: a file of kernels/."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    layer_scale: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Initial factor, one learned per entry, of what each half of a layer adds (LayerScale); 0 = none."""

    @model_validator(mode="wrap")
    @classmethod
    def _has_an_entry_per_layer(cls, given: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        """Check the length of lists as they were given, before equal entries collapse."""
        arch = build(given)
        for field in ("heads", "head_dim", "mlp"):
            value = given.get(field) if isinstance(given, dict) else None
            if isinstance(value, list | tuple) and len(value) != arch.depth:
                raise ValueError(f"{field} has {counted(len(value), 'entry')} for depth {arch.depth}")
        return arch

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.image % self.patch:
            raise ValueError(
                f"patch {self.patch} does not divide image {self.image}: {self._patches_that_do()}"
            )
        if self.stem and not self.halvings:
            raise ValueError(f"patch {self.patch} behind a stem, which halves the image: it must be even")
        if self.pooling == "cls" and not self.class_token:
            raise ValueError("pooling 'cls' needs class_token true; without one choose pooling 'mean'")
        if self.kernel not in members("kernels"):
            raise unknown("kernel", self.kernel, members("kernels"))
        odd = [heads for heads in set(self._spread(self.heads)) if self.width % heads]
        if odd and self.head_dim is None:
            cure = "set head_dim to choose freely"
            raise ValueError(f"heads {odd[0]} does not divide width {self.width}; {cure}")
        return self

    @model_serializer(mode="wrap")
    def _without_newer_defaults(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out defaults of fields that files and hashes of older networks do not have."""
        fields: dict[str, Any] = dump(self)
        if self.final_norm == "tokens":
            fields.pop("final_norm", None)
        for field in ("layer_scale", "stem"):
            if not getattr(self, field):
                fields.pop(field, None)
        return fields

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """Return heads, head_dim and mlp of each layer."""
        heads = self._spread(self.heads)
        dims = self._spread(self.head_dim) if self.head_dim else tuple(self.width // count for count in heads)
        return tuple(map(Layer, heads, dims, self._spread(self.mlp)))

    @property
    def patches(self) -> int:
        """Return the number of patches of one image."""
        return (self.image // self.patch) ** 2

    @property
    def tokens(self) -> int:
        """Return the number of tokens in the encoder: the patches and the class token."""
        return self.patches + self.class_token

    @property
    def patch_dim(self) -> int:
        """Return the length of a flattened patch of the image."""
        return self.channels * self.patch**2

    @property
    def halvings(self) -> int:
        """Return how many convolutions of the stem, the last ones, halve the image."""
        twos = (self.patch & -self.patch).bit_length() - 1
        return min(len(self.stem), twos)

    @property
    def mapped_patch(self) -> int:
        """Return the side of a patch as the patch map reads it: behind the stem, if there is one."""
        return self.patch >> self.halvings

    @property
    def mapped_dim(self) -> int:
        """Return the length of a flattened patch as the patch map reads it."""
        return (self.stem or (self.channels,))[-1] * self.mapped_patch**2

    def with_fields(self, **fields: Any) -> "Arch":
        """Return a copy with some fields changed, validated again."""
        return Arch(**{**self.model_dump(exclude_unset=True), **fields})

    def _patches_that_do(self) -> str:
        """Name the nearest patch sides below and above that divide the image."""
        divisors = [side for side in range(1, self.image + 1) if self.image % side == 0]
        below, above = [d for d in divisors if d < self.patch], [d for d in divisors if d > self.patch]
        return " and ".join(map(str, (*below[-1:], *above[:1]))) + (" do" if above else " does")

    def _spread(self, value: Any) -> tuple[int, ...]:
        return value if isinstance(value, tuple) else (value,) * self.depth


def _collapse(value: Any) -> Any:
    if isinstance(value, list | tuple) and value and all(item == value[0] for item in value):
        return value[0]
    return value
