"""The settings of a pretraining and of a probe. No torch."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, ModelWrapValidatorHandler, model_validator

from vitruvius.arch.choice import ArchChoice
from vitruvius.core.config import Ints, Names, Part
from vitruvius.datasets import DataChoice
from vitruvius.training.recipe import Augment, BatchSize, Compute, LearningRate, Recipe, Seed, Steps


class AutoencoderChoice(Part):
    """Which autoencoders are trained, and what their objectives do to the input."""

    group: ClassVar[str] = "autoencoders"
    model: Literal["linear", "mlp", "vit"] = "linear"
    """Fully connected without or with an activation, or a ViT as masked autoencoder."""
    latent: Ints = (5, 20, 100, 500)
    """Latent sizes; a ViT's is its width."""
    hidden: Ints = ()
    """Widths of the layers between input and latent; default: none, for an mlp 256."""
    activation: Literal["relu", "gelu"] = "relu"
    """Between the layers of an mlp."""
    decoder_width: Annotated[int, Field(ge=4, le=2**14)] = 64
    """Width of the ViT's decoder, which is thrown away after pretraining."""
    decoder_depth: Annotated[int, Field(ge=1, le=128)] = 2
    """Layers of the ViT's decoder."""
    repeats: Annotated[int, Field(ge=1, le=1000)] = 3
    """Trainings of each kind, each from other initial weights; default: 3, for a ViT 1."""
    noise: Annotated[float, Field(ge=0, le=100)] = 0.5
    """Standard deviation of the noise that denoise adds."""
    mask: Annotated[float, Field(gt=0, lt=1)] = 0.25
    """Fraction that mask hides; default: 0.25 of the entries, for a ViT 0.75 of the patches."""
    counted: Literal["all", "masked", "visible"] = "all"
    """Which errors the mask objective counts; default: all entries, for a ViT the masked patches."""
    normalise: bool = False
    """Scale each target patch of a ViT to mean 0 and standard deviation 1."""
    l2: Annotated[float, Field(ge=0, le=1000)] = 0.0
    """Weight of the sum of squared weights, added to the loss."""


class EpochProbe(Part):
    """The probe that is fitted before training and after every epoch."""

    group: ClassVar[str] = "probe"
    probe: Literal["lbfgs", "adam", "knn", "none"] = "lbfgs"
    """Classifier fitted to validation labels before training and after each epoch; test accuracy is shown."""
    labels: Annotated[int, Field(ge=2)] | Literal["all"] = "all"
    """Validation labels that the probe gets."""


class Pretraining(DataChoice, ArchChoice, AutoencoderChoice, EpochProbe, Recipe, Augment, Compute):
    """All settings of a pretraining; the defaults are those of linear autoencoders, others by model below."""

    group: ClassVar[str] = "recipe"
    data: str = "synthetic"
    objective: Names = ("reconstruct", "denoise", "mask")
    """reconstruct, denoise, mask, or ./mine.py:name; default: the first three, for a ViT mask."""
    batch: BatchSize = 100
    lr: LearningRate = 5e-4
    """Peak learning rate; default: 0.0005, for an mlp or a ViT 0.001."""
    warmup: Steps = 0
    """Steps over which the learning rate rises; default: 0, for a ViT 500."""
    schedule: Literal["cosine", "constant"] = "constant"
    """What the learning rate does after the warm-up; default: constant, for a ViT cosine."""
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Pull of the optimiser on the weight matrices of a ViT towards zero; other models have --l2."""
    clip: Annotated[float, Field(ge=0)] = 0.0
    """Largest norm of a ViT's gradient; 0 = no clipping."""
    precision: Literal["float32", "float64"] = "float32"
    """Floating-point type of weights and computations."""

    @model_validator(mode="wrap")
    @classmethod
    def _fill_in_defaults(cls, given: Any, build: ModelWrapValidatorHandler[Self]) -> Self:
        """Settings that are not given get the default of the model; they still count as not given."""
        if not isinstance(given, dict):
            return build(given)
        filled = build({**_DEFAULTS.get(str(given.get("model")), {}), **given})
        object.__setattr__(filled, "__pydantic_fields_set__", set(given))
        return filled

    @model_validator(mode="after")
    def _refuse_contradictions(self) -> Self:
        for field in ("latent", "hidden"):
            sizes = getattr(self, field)
            if any(not 1 <= size <= 2**20 for size in sizes):
                raise ValueError(f"{field} {','.join(map(str, sizes))}: sizes are 1 to {2**20}")
        for field in ("objective", "latent"):
            values = getattr(self, field)
            if len(set(values)) < len(values):
                raise ValueError(f"{field} {','.join(map(str, values))}: name each one once")
            if not values:
                raise ValueError(f"{field}: name at least one")
        if self.model == "vit" and (len(self.objective) > 1 or self.repeats > 1):
            cure = "one objective, repeats 1 (another seed gives another)"
            raise ValueError(f"a ViT is pretrained alone: {cure}")
        others, whose = (_OF_DENSE, "linear and mlp models") if self.model == "vit" else (_OF_VIT, "a ViT")
        for field in others:
            if getattr(self, field) != type(self).model_fields[field].default:
                raise ValueError(f"{field} belongs to {whose}, model is {self.model}")
        return self


_DEFAULTS: dict[str, dict[str, Any]] = {
    "mlp": {"hidden": (256,), "lr": 1e-3},
    "vit": {"objective": ("mask",), "repeats": 1, "mask": 0.75, "counted": "masked"}
    | {"lr": 1e-3, "schedule": "cosine", "warmup": 500},
}
"""Defaults that differ from those of linear autoencoders."""
_OF_DENSE = ("latent", "hidden", "activation")
_OF_VIT = ("arch", "set", "decoder_width", "decoder_depth", "normalise", "weight_decay", "clip")
# Clipping the norm of a whole grid would let its autoencoders influence one another.


class ProbeChoice(Part):
    """How features are probed."""

    group: ClassVar[str] = "probe"
    labels: Annotated[int, Field(ge=2)] | Literal["all"] = 200
    """Training samples whose labels the probe gets, drawn with every class in proportion; or all."""
    draws: Annotated[int, Field(ge=1, le=10_000)] = 10
    """How often labels are drawn."""
    method: Literal["lbfgs", "adam", "knn"] = "lbfgs"
    """lbfgs: to the optimum; adam: the autoencoder assignment's protocol; knn: 20 neighbours by cosine."""
    l2: Annotated[float, Field(gt=0, le=1000)] = 1e-3
    """lbfgs minimises mean cross-entropy + l2/2 |W|^2 with a free bias."""
    on: Literal["test", "validation"] = "test"
    """The samples on which accuracy is measured; choose recipes on validation."""
    seed: Seed = 0
    """Seed of the draws, and of untrained encoders."""
