"""The settings of a ranking: which networks, by which scores, on which images. No torch."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from vitruvius.core.config import Names, RunConfig
from vitruvius.datasets import DataChoice

Executor = Literal["here", "processes", "ray"]
"""Where tasks are computed: in this process, in child processes, or on a Ray cluster."""


class Config(RunConfig, DataChoice):
    """Which networks are ranked, by which scores, on which images."""

    short = (
        *("archs", "proxies", "data", "batch", "seeds", "accuracy", "accuracies", "spread", "name"),
        *("resume", "json"),
    )
    changeable: ClassVar[tuple[str, ...]] = ("spread", "workers")
    group: ClassVar[str] = "ranking"
    archs: Annotated[Names, Field(min_length=1)] = ("fifty",)
    """fifty (they ship with accuracies), a FILE.json, presets by name, or ./mine.py:models."""
    proxies: Annotated[Names, Field(min_length=1)] = ("grad_norm", "grad_norm_layers", "snip")
    """Scores by name (see `vitruvius list proxies`), az_nas, all, or ./mine.py:name; counts are added."""
    data: str = "fashion_mnist:mini"
    batch: Annotated[int, Field(ge=1, le=2**16)] = 64
    """Images of the minibatch."""
    seeds: Annotated[int, Field(ge=1, le=1000)] = 3
    """How often weights and minibatch are drawn; scores are averaged."""
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    """The first of the seeds."""
    accuracy: str | None = None
    """The accuracy column that evaluates the scores; default: each that ends in acc or accuracy."""
    accuracies: str | None = None
    """FILE.json with the accuracies of networks by name, for modules of your own and presets."""
    device: Literal["cpu", "cuda", "mps"] = "cpu"
    """Where networks are scored; only the CPU gives the same bits everywhere."""
    known: str | None = None
    """An accuracy column with gaps: what is known re-ranks the networks whose accuracy is not."""
    spread: Executor = "here"
    """Where the scores are computed; they are the same everywhere."""
    workers: Annotated[int, Field(ge=0, le=4096)] = 0
    """Processes or Ray actors; 0 = one per core of this machine or of the cluster."""
