"""Evaluate a trained run on other data: accuracy with its interval, every class, the worst mistakes.

vitruvius evaluate fashion fashion_mnist:mini
vitruvius evaluate leaves folder:photos
"""

from collections.abc import Iterator
from typing import Literal

from vitruvius.core import config, records, runs
from vitruvius.core.config import Flags, Positional
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError
from vitruvius.datasets import DataChoice


class Config(config.RunConfig, DataChoice):
    """Which run, on which data."""

    run: Positional[str] = ""
    """The training run: its name or its folder."""
    data: Positional[str] = ""
    """A data set or a folder of images; its classes are those of the run by name. Default: the run's own."""
    on: Literal["auto", "all", "test", "validation", "train"] = "auto"
    """Which images; auto: the test images of the data that the run was trained on, all images of others."""


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Classify the images, compare with their classes, write the report."""
    from vitruvius.training import card, evaluate, foreign, mistakes, predictor, report
    from vitruvius.training.results import Evaluation, class_scores

    if flags.resume is not None and not config.run:
        config = runs.recorded(runs.find(flags.resume, "evaluate", flags.runs), Config)
    if not config.run:
        raise UserError(
            "which run? vitruvius evaluate RUN DATA (RUN is a name below runs/train, or a folder)"
        )
    source = runs.find(config.run, "train", flags.runs)
    model = predictor.load(source)
    choice = foreign.choice_for(source, model, config)
    yield from choice.decode()
    found = foreign.load(source, model, choice, config.on)
    with runs.opened("evaluate", config, flags) as (folder, config):
        yield records.Note(text=f"{found.name}: {counted(len(found.images.x), 'image')} ({found.part})")
        score = evaluate.score(model.net, foreign.batches(model, found.images), model.classes)
        result = Evaluation(
            verdict=card.verdict(score, f"images of {found.name}"),
            accuracy=score.accuracy,
            interval=score.interval,
            top5=score.top5,
            loss=score.loss,
            images=score.images,
            part=found.part,
            data=found.name,
            model=str(source),
            classes=tuple(class_scores(model.classes, score)),
            notes=found.notes,
            run=str(folder.folder),
        )
        folder.keep(result)
        wrong = mistakes.shown(model, found.images, score.wrong)
        report.write_evaluation(folder, result, score, model.net.arch, wrong)
        folder.seal(runs.environment(data_sha256=found.sha256))
        yield result
