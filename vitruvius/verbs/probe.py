"""Probe features with a simple classifier, always beside raw samples, PCA and the same encoder untrained.

vitruvius probe raw
vitruvius probe digits --labels all
vitruvius probe pca:50 --data fashion_mnist --labels 200 --method knn
vitruvius probe untrained:mlp-256-64 --draws 3
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from vitruvius.core import config, files, records, runs
from vitruvius.core.blocks import Bars, Block, Table, Text
from vitruvius.core.config import Flags, Positional
from vitruvius.core.errors import UserError

if TYPE_CHECKING:
    from vitruvius.datasets import Dataset
    from vitruvius.pretraining.features import Source


class Config(config.Config):
    """Which features, on which data, by which probe."""

    source: Positional[str] = ""
    """A run of pretrain or train (its name or folder), raw, pca:K, untrained:ARCH (a preset, or mlp-256-64)."""
    data: str | None = None
    """A data set; default: that of the run, else mnist."""
    data_dir: str | None = None
    """Where to look for its files first."""
    validation: Annotated[int, Field(ge=0)] | None = None
    """Training samples put aside for validation; default: that of the run, else the data set's own."""
    labels: Annotated[int, Field(ge=2)] | Literal["all"] = 200
    """Training samples whose labels the probe gets, drawn with every class in proportion; or all."""
    draws: Annotated[int, Field(ge=1, le=10_000)] = 10
    """How often labels are drawn."""
    method: Literal["lbfgs", "adam", "knn"] = "lbfgs"
    """lbfgs: to the optimum; adam: the autoencoder assignment's protocol; knn: 20 neighbours by cosine."""
    l2: Annotated[float, Field(gt=0, le=1000)] = 1e-3
    """lbfgs minimises mean cross-entropy + l2/2 |W|^2 with a free bias."""
    on: Literal["test", "validation"] = "test"
    """The samples that are counted; choose recipes on validation."""
    seed: Annotated[int, Field(ge=0)] = 0
    """Of the draws, and of untrained encoders."""
    threads: Annotated[int, Field(ge=0, le=1024)] = 0
    """Threads that torch uses; 0 = one per core."""


class Row(config.Strict):
    """One kind of features: accuracy over the draws of labels."""

    features: str
    size: int
    mean: float
    spread: float
    """Standard deviation over the draws; 0 with one."""
    low: float
    high: float
    accuracies: tuple[float, ...]
    gradient: float | None
    """The largest gradient norm at which lbfgs stopped."""


class Result(records.Result):
    """All rows, and the protocol they were measured by."""

    rows: tuple[Row, ...]
    protocol: str
    data: str
    labels: int
    draws: int
    run: str

    def view(self) -> Iterable[Block]:
        shown = (
            (
                row.features,
                row.size,
                f"{row.mean:.2%}",
                f"{row.spread:.2%}",
                f"{row.low:.2%}",
                f"{row.high:.2%}",
            )
            for row in self.rows
        )
        columns = ("features", "size", "accuracy", "spread", "lowest", "highest")
        yield Table(columns=columns, rows=tuple(shown), note=f"{self.data}: {self.protocol}")
        slow = [row.features for row in self.rows if row.gradient is not None and row.gradient > 1e-6]
        if slow:
            yield Text(
                text=f"not at the optimum (gradient norm above 1e-6): {', '.join(slow)}", style="warning"
            )


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Fit a probe to each kind of features and count its hits."""
    from vitruvius.pretraining import features as encoders
    from vitruvius.pretraining import pca
    from vitruvius.training import device

    if not config.source:
        raise UserError("which features? vitruvius probe RUN, raw, pca:K or untrained:ARCH")
    config, source, seed = _of_run(config, flags)
    device.use_threads(config.threads)
    data = _data(config, seed)
    found = list(encoders.sources(config.source, data, config.seed, source))
    if config.source != "raw" and (why_not := pca.too_large(data.train.x)):
        yield records.Note(text=why_not)
    with runs.opened("probe", config, flags) as (folder, config):
        rows = []
        for place, one in enumerate(found):
            yield records.Progress(done=place, total=len(found), label=f"probe {one.name}")
            rows.append(_row(config, data, one))
        result = _result(config, data, rows, str(folder.folder))
        folder.keep(result)
        _draw(folder, result)
        folder.seal(runs.environment())
        yield result


def _of_run(config: Config, flags: Flags) -> tuple[Config, str, int]:
    """The config with the run's own data where no others are named, the run's folder, and the seed of the data."""
    if config.source == "raw" or config.source.startswith(("pca:", "untrained:")):
        return config.model_copy(update={"data": config.data or "mnist"}), "", config.seed
    folder = runs.find(config.source, runs=flags.runs)
    trained = files.read_json(folder / "config.json")
    if config.data not in (None, trained["data"]):
        return config, str(folder), config.seed
    left_out = [key for key in ("data", "data_dir", "validation") if getattr(config, key) is None]
    return config.model_copy(update={key: trained.get(key) for key in left_out}), str(folder), trained["seed"]


def _data(config: Config, seed: int) -> "Dataset":
    """Labelled samples of several classes, or a refusal with their counts."""
    from vitruvius import datasets
    from vitruvius.training.batches import require_classes

    assert config.data is not None
    data = datasets.get(config.data, data_dir=config.data_dir, validation=config.validation, seed=seed)
    require_classes(data)
    if not len(getattr(data, config.on)):
        raise UserError(f"{data.name}: there are no {config.on} samples to count the probe's hits on")
    if config.labels != "all" and config.labels > len(data.train):
        raise UserError(f"--labels {config.labels:,}: {data.name} has {len(data.train):,} training samples")
    return data


def _row(config: Config, data: "Dataset", source: "Source") -> Row:
    """One kind of features through all draws."""
    import statistics

    from vitruvius.pretraining import probe as probing
    from vitruvius.training import seeds
    from vitruvius.training.batches import Feed

    judged = getattr(data, config.on)
    test = probing.Labelled(probing.features(source.encode, Feed(judged.x, judged.y)), judged.y)
    outcomes = []
    for number in range(1 if config.labels == "all" else config.draws):
        kept = probing.draw(data.train.y, config.labels, config.seed, number)  # type: ignore[arg-type]
        x, y = data.train.x[kept], data.train.y[kept]  # type: ignore[index]
        train = probing.Labelled(probing.features(source.encode, Feed(x, y)), y)
        seed = seeds.derive(config.seed, "probe", number)
        outcomes.append(probing.probe(config.method, train, test, len(data.classes), config.l2, seed))
    accuracies = [outcome.accuracy for outcome in outcomes]
    gradients = [outcome.gradient for outcome in outcomes if outcome.gradient is not None]
    return Row(
        features=source.name,
        size=source.size,
        mean=statistics.fmean(accuracies),
        spread=statistics.stdev(accuracies) if len(accuracies) > 1 else 0.0,
        low=min(accuracies),
        high=max(accuracies),
        accuracies=tuple(accuracies),
        gradient=max(gradients, default=None),
    )


def _result(config: Config, data: "Dataset", rows: list[Row], run: str) -> Result:
    how = {
        "lbfgs": f"lbfgs, mean cross-entropy + {config.l2:g}/2 |W|^2 with a free bias, to a gradient norm of 1e-6",
        "adam": "adam at 0.001, batches of 200, 50 epochs (1,000 on up to 200 labels)",
        "knn": "20 nearest neighbours by cosine, weighed by exp(cosine / 0.07)",
    }[config.method]
    labels, draws = len(data.train) if config.labels == "all" else config.labels, len(rows[0].accuracies)
    drawn = "all" if config.labels == "all" else f"{draws} draws, classes in proportion, of"
    counted = f"counted on the {len(getattr(data, config.on)):,} {config.on} samples"
    return Result(
        rows=tuple(rows),
        protocol=f"{how}; {drawn} {labels:,} training labels, {counted}",
        data=data.name,
        labels=labels,
        draws=draws,
        run=run,
    )


def _draw(folder: runs.Run, result: Result) -> None:
    from vitruvius.render import figures

    bars = Bars(
        title=f"Probe accuracy on {result.data} with {result.labels:,} labels",
        names=tuple(row.features for row in result.rows),
        values=tuple(round(100 * row.mean, 2) for row in result.rows),
        y_label="%",
    )
    figures.write_png(bars, folder.path("accuracy.png"))
