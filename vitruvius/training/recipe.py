r"""The settings of a training: recipe, augmentation, computing. No torch.

The learning rate rises linearly over the warm-up and then follows half a cosine towards zero: step $t = 1
\dots T$ has $\eta_t = \eta\,t/w$ for $t \le w$, then $\tfrac{\eta}{2}\big(1 +
\cos(\pi\,\frac{t-1-w}{T-w})\big)$ (Loshchilov and Hutter 2017). The trapezoid stays at $\eta$ and falls
linearly over the last fifth of the steps: up to there, a training paused anywhere has followed the same rates
as every other, so that paused trainings can be compared and continued (the cool-down of Zhai et al. 2022).
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from vitruvius.arch import public_configs, tables
from vitruvius.arch.choice import ArchChoice
from vitruvius.core.config import Names, Part
from vitruvius.datasets import DataChoice

SMALL = 0.01
"""Share of the peak learning rate that is left after a cosine."""
Epochs = Annotated[int, Field(ge=1, le=100_000)]
BatchSize = Annotated[int, Field(ge=1, le=2**20)]
LearningRate = Annotated[float, Field(gt=0, le=100)]
Steps = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Shift = Annotated[int | float, Field(ge=0, le=64)]
"""A fraction of the side below 1, whole pixels from 1 on."""
CHANGEABLE = ("epochs", "cosine_epochs", "time_limit", "patience", "log", "doctor")
"""Settings of a classifier that may differ when its training is resumed."""
FALLING = 1 / 5
"""The share of the steps over which a trapezoid falls."""


class Recipe(Part):
    """How a model is trained."""

    group: ClassVar[str] = "recipe"
    objective: Names = ("classify",)
    """What is minimised: a file of objectives/ (`vitruvius list objectives`) or ./mine.py:name."""
    optimiser: str = "adamw"
    """How parameters are updated: a file of optimisers/ (`vitruvius list optimisers`) or ./mine.py:name."""
    epochs: Epochs = 10
    """How often every training sample is seen."""
    batch: BatchSize = 32
    """Samples per optimiser step, over all processes."""
    accumulate: Annotated[int, Field(ge=1, le=4096)] = 1
    """Parts into which a batch is cut to save memory."""
    lr: LearningRate = 1e-3
    """Peak learning rate."""
    warmup: Steps = 1000
    """Steps over which the learning rate rises to its peak; before a cosine at most half of all steps."""
    schedule: Literal["cosine", "constant", "trapezoid"] = "cosine"
    """What the learning rate does after the warm-up; trapezoid: constant, then down over the last fifth."""
    cosine_epochs: Epochs | None = None
    """Epochs over which the cosine falls; after them the rate stays at a hundredth of its peak. Default: all.
    With --resume, more --epochs then go on with that small rate, where otherwise it would rise again."""
    weight_decay: Annotated[float, Field(ge=0, le=1)] = 0.05
    """Pull of the optimiser on the weight matrices towards zero."""
    clip: Annotated[float, Field(ge=0)] = 1.0
    """Largest norm of the gradient; 0 = no clipping."""
    seed: Seed = 0
    """Seed of the initial weights, the order of the samples, the augmentation and the dropout."""
    checkpoint: Annotated[int, Field(ge=1)] = 500
    """Optimiser steps between two checkpoints."""
    time_limit: Annotated[float, Field(gt=0)] | None = None
    """Stop so many seconds after this start, reading data and compiling included, with the state saved."""

    def total_steps(self, samples: int) -> int:
        """Return the optimiser steps of the whole training; the last one of an epoch may be smaller."""
        return self.epochs * math.ceil(samples / self.batch)

    def warmup_steps(self, samples: int) -> int:
        """Return how many steps the warm-up really takes: at most half of all, unless the rate stays."""
        constant = self.schedule == "constant"
        return self.warmup if constant else min(self.warmup, self._falling_steps(samples) // 2)

    def rate(self, step: int, samples: int) -> float:
        """Return the learning rate of a step (from 1)."""
        total = self._falling_steps(samples)
        if self.schedule == "trapezoid":
            falling = min(1.0, (total - step + 1) / math.ceil(total * FALLING))
            return falling * learning_rate(step, self.lr, self.warmup_steps(samples), None)
        return learning_rate(step, self.lr, self.warmup, total if self.schedule == "cosine" else None)

    def _falling_steps(self, samples: int) -> int:
        """Return the steps after which the learning rate has fallen: all, or those of a shorter cosine."""
        if self.cosine_epochs is None or self.schedule != "cosine":
            return self.total_steps(samples)
        return self.cosine_epochs * math.ceil(samples / self.batch)


class Augment(Part):
    """What may happen at random to a training image."""

    group: ClassVar[str] = "augmentation"
    shift: Shift = 0
    """Random shifts in each direction, zeros moving in: a fraction of the side, or pixels from 1 on."""
    crop: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Random square crops of 1 - crop to 1 of the side, scaled back."""
    rotate: Annotated[float, Field(ge=0, le=180)] = 0.0
    """Random rotations by up to so many degrees either way."""
    flip: bool = False
    """Random left-right flips."""
    randaugment: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Two random operations (rotate, shear, colour, contrast, ...) of this magnitude; 0 = none."""
    erase: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Probability with which a random box of an image is replaced by noise."""

    @property
    def augments(self) -> bool:
        """Whether any image is changed at all."""
        return bool(self.shift or self.resamples or self.flip or self.randaugment or self.erase)

    @property
    def resamples(self) -> bool:
        """Whether pixels are interpolated, by crops or rotations."""
        return bool(self.crop or self.rotate)

    def on(self, side: int) -> "Augment":
        """Return the augmentation of images of this side, its shift in whole pixels.

        >>> [Augment(shift=0.08).on(side).shift for side in (8, 28, 64)], Augment(shift=3).on(8).shift
        ([0, 2, 5], 3)
        """
        shift = math.floor(self.shift * side) if self.shift < 1 else math.floor(self.shift)
        chosen = {name: getattr(self, name) for name in Augment.model_fields}
        return Augment(**{**chosen, "shift": shift})


class Mixing(Part):
    """How training images are mixed with one another."""

    group: ClassVar[str] = "augmentation"
    mixup: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Blend images and labels in a share drawn from Beta(X, X); 0 = never."""
    cutmix: Annotated[float, Field(ge=0, le=10)] = 0.0
    """Paste a box of another image, its share drawn from Beta(X, X); with --mixup a coin decides."""

    @property
    def mixes(self) -> bool:
        """Whether any images are mixed."""
        return bool(self.mixup or self.cutmix)


class Sampling(Part):
    """Which training samples an epoch consists of."""

    group: ClassVar[str] = "augmentation"
    repeat: Annotated[int, Field(ge=1, le=64)] = 1
    """Copies of an image in a batch, each augmented differently; an epoch then sees fewer images."""
    balance: Literal["none", "weights", "sampling"] = "none"
    """Classes of unequal size: weights in the loss, or each class drawn equally often."""


class Threads(Part):
    """How many threads compute."""

    group: ClassVar[str] = "computing"
    threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """Threads that torch uses; 0 = one per core."""


class Compute(Threads):
    """Where and how a training computes."""

    group: ClassVar[str] = "computing"
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    """Where to compute; auto: a GPU where there is one."""
    precision: Literal["auto", "float32", "bfloat16", "float16", "float64"] = "auto"
    """auto: on an NVIDIA GPU bfloat16, or float16 if it computes only with that; float32 elsewhere."""


class Execution(Compute):
    """Where and how a training computes: compiled or not, in one process or several."""

    group: ClassVar[str] = "computing"
    compile: Literal["auto", "on", "off"] = "auto"
    """torch.compile; auto: where it saves time in the run and its time limit and a C++ compiler is found."""
    save_memory: bool = False
    """Keep the inputs of the layers only and compute the rest again in the backward pass: slower, smaller."""
    workers: Annotated[int, Field(ge=0, le=256)] = 0
    """Processes that share each batch on a CPU, and the threads; 0: as many as cores where a long training of
    a small network gains by it (docs/gpu.md), else one."""


class Regularisation(Part):
    """What keeps a classifier from learning its training images by heart."""

    group: ClassVar[str] = "recipe"
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Fraction of each label that is spread evenly over all classes."""
    drop_path: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Probability with which a sample skips a half of the last layer; less in the layers before it."""
    ema: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Decay of the moving average of the weights, which then is evaluated and kept; 0 = none."""
    patience: Annotated[int, Field(ge=0)] = 0
    """End when the validation accuracy has not risen for so many epochs; 0 = never."""


class Teaching(Part):
    """The run whose predictions a classifier learns beside the labels."""

    group: ClassVar[str] = "recipe"
    teacher: str | None = None
    """Learn from the predictions of this run too (knowledge distillation)."""
    teacher_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of the loss that the teacher's predictions have; the labels have the rest."""
    temperature: Annotated[float, Field(gt=0, le=100)] = 2.0
    """By what the scores of teacher and network are divided before they are compared."""


class ClassifierSettings(
    DataChoice, ArchChoice, Recipe, Regularisation, Teaching, Augment, Mixing, Sampling, Execution
):
    """Everything that training a classifier needs to know."""

    group: ClassVar[str] = "recipe"
    recipe: Literal["plain", "small-data", "deit", "finetune", "auto"] | None = None
    """Settings that belong together (docs/recipes.md), which single options override; default: auto for
    folders of images, plain for the built-in data sets."""
    lr: LearningRate | Literal["auto"] = 1e-3  # type: ignore[assignment]
    """Peak learning rate; auto: found by a range test of 100 steps."""
    shift: Shift = 0.08
    layer_decay: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Learning rate of each layer over that of the layer above it."""
    freeze: Annotated[int, Field(ge=0)] = 0
    """Keep the weights of the embedding and of so many layers as they are."""
    steps: Annotated[int, Field(ge=1)] | None = None
    """Optimiser steps of the whole training, for short ones; default: those of --epochs."""
    init: str | None = None
    """Start from the weights of this run, .safetensors file or folder of transformers or timm; its network
    is taken unless --arch names one. Masked pretraining trains the patches and not the class token:
    after it, --set pooling=mean may help."""

    def total_steps(self, samples: int) -> int:
        """Return the optimiser steps of the whole training: `steps`, or those of all epochs."""
        return super().total_steps(samples) if self.steps is None else self.steps

    @classmethod
    def read_older(cls, recorded: Mapping[str, Any]) -> dict[str, Any]:
        """Versions that did not record the number of processes used one, and knew no recipes."""
        return {"workers": 1, "recipe": "plain", **super().read_older(recorded)}

    @model_validator(mode="before")
    @classmethod
    def _network_of_the_checkpoint(cls, given: Any) -> Any:
        """Take the network from the run or folder that `init` names, if it describes one; not over `arch`."""
        if isinstance(given, dict) and given.get("init") and "arch" not in given:
            source = str(given["init"])
            folder = public_configs.find(source) or tables.run_folder(source)
            return given if folder is None else {**given, "arch": str(folder)}
        return given


def learning_rate(step: int, peak: float, warmup: int, total: int | None) -> float:
    """Return the learning rate of step `step` (from 1) of `total`; constant if `total` is None.

    A warm-up takes at most half of the steps. After the last step a hundredth of the peak is left.

    >>> [round(learning_rate(step, 1.0, 2, 6), 3) for step in range(1, 7)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146]
    """
    warmup = warmup if total is None else min(warmup, total // 2)
    if step <= warmup:
        return peak * step / warmup
    if total is None:
        return peak
    if step > total:
        return peak * SMALL
    return peak * (1 + math.cos(math.pi * (step - 1 - warmup) / max(1, total - warmup))) / 2
