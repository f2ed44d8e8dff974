"""The settings of a search: space, budget, what may be spent, where trainings run. No torch."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vitruvius.core.config import Part, RunConfig
from vitruvius.datasets import DataChoice
from vitruvius.ranking.settings import Executor
from vitruvius.training.recipe import Augment, Compute, Recipe, Shift

Price = Literal["params", "macs", "ms"]
"""What a network costs: parameters, multiply-adds of one image, milliseconds of one image."""
Count = Annotated[int, Field(ge=1, le=10**15)]


class Budget(Part):
    """What the network may cost."""

    group: ClassVar[str] = "budget"
    max_params: Count | None = None
    """Largest number of parameters."""
    max_macs: Count | None = None
    """Most multiply-adds of the forward pass of one image."""
    max_ms: Annotated[float, Field(gt=0)] | None = None
    """Longest time of the forward pass of one image on this machine, in milliseconds."""
    max_memory: Annotated[float, Field(gt=0)] | None = None
    """Most memory of a training step with --batch images, in MiB."""

    @property
    def bounds(self) -> dict[str, float]:
        """Return the bounds that were given, by option."""
        fields = ("max_params", "max_macs", "max_ms", "max_memory")
        return {name: getattr(self, name) for name in fields if getattr(self, name) is not None}


class Config(RunConfig, DataChoice, Budget, Recipe, Augment, Compute):
    """Which network for these images, within which budget, and what the search may spend."""

    takes: ClassVar[tuple[str, ...]] = (*RunConfig.takes, "allow_inexact")
    changeable: ClassVar[tuple[str, ...]] = ("spread", "workers")
    short = (
        *("data", "space", "max_params", "max_macs", "max_ms", "hours", "trainings", "front", "epochs"),
        *("spread", "seed", "name", "resume"),
    )
    group: ClassVar[str] = "search"
    space: str = "auto"
    """The networks to choose from (`vitruvius list spaces`) or FILE.json; auto: by the size of the images."""
    sampling: Literal["auto", "uniform", "log-uniform"] = "auto"
    """Every network equally likely, or every size on a log scale; auto: uniform, with --front log-uniform."""
    trainings: Annotated[int, Field(ge=2, le=10_000)] | None = None
    """What may be spent, counted in full trainings of --epochs; default: 20, unless --hours is given."""
    hours: Annotated[float, Field(gt=0, le=10_000)] | None = None
    """What may be spent in hours on this machine: networks are trained in rounds until they are spent."""
    front: Price | None = None
    """Search the best accuracy at every price instead of the best network."""
    candidates: Annotated[int, Field(ge=1, le=10_000_000)] = 50_000
    """Networks that are drawn and priced; the largest that fits is the largest of these."""
    scored: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Networks whose proxies are computed; default: four for each short training, with --hours no more than a
    tenth of the time pays for."""
    schedule: Literal["cosine", "constant", "trapezoid"] = "trapezoid"
    shift: Shift = 0.08
    label_smoothing: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Fraction of each label that is spread evenly over all classes."""
    spread: Executor = "here"
    """Where networks are scored and trained."""
    workers: Annotated[int, Field(ge=0, le=4096)] = 0
    """Processes or Ray actors; 0 = one per core."""
    storage: str | None = None
    """Optuna's storage: a URL such as postgresql://HOST/DB is shared by all searches of that --name; default:
    study.db in the run folder."""
