"""What a pretraining ends with: its result, and weights, tables, the assignment's log and pictures in its folder."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from vitruvius.core import files, records
from vitruvius.core.blocks import Block
from vitruvius.core.runs import Run
from vitruvius.pretraining.results import Certificate, Outcome, loss_in_words, outcomes
from vitruvius.render import text as render

if TYPE_CHECKING:
    from vitruvius.datasets import Dataset
    from vitruvius.pretraining.autoencoders import Plan
    from vitruvius.pretraining.evaluate import Judge
    from vitruvius.training.loop import Job
    from vitruvius.verbs.pretrain import Config


class Result(records.Result):
    """A pretrained grid: every kind of autoencoder, and for linear ones how near they are to the optimum."""

    outcomes: tuple[Outcome, ...]
    certificates: tuple[Certificate, ...]
    """Of linear autoencoders."""
    features: int
    """Entries of a sample."""
    variance: float
    """Of the training samples, summed over entries."""
    loss: str
    """What the losses are, in words."""
    probe: str
    """The probe, in words."""
    epochs: int
    seconds: float
    seed: int
    data: str
    run: str
    inexact: bool

    def view(self) -> Iterable[Block]:
        from vitruvius.pretraining import report as pretraining

        return pretraining.summary(self.model_dump(mode="json"))


def finish(
    folder: Run,
    config: "Config",
    plan: "Plan",
    data: "Dataset",
    job: "Job",
    judge: "Judge",
    environment: dict[str, Any],
) -> Result:
    """Certify the last weights and write what people look at."""
    from vitruvius.pretraining import evaluate as pretraining
    from vitruvius.pretraining import pca
    from vitruvius.pretraining.probe import batches

    asked = config.model_dump(mode="json")
    lines = [line for line in folder.records() if line["kind"] == "points"]
    after = lines[-1]["points"]
    if (
        job.cursor.position
    ):  # stopped within an epoch: what is kept is judged, not what the last whole epoch left
        after = pretraining.look(job.model, job.cursor.epoch, judge).model_dump(mode="json")["points"]
    result = Result(
        outcomes=tuple(outcomes(lines[0]["points"], after)),
        certificates=tuple(pca.certificates(job.model, job.train, judge.validation, config.l2)),
        features=data.train.x[0].numel(),
        variance=pca.variance(batches(job.train)),
        loss=loss_in_words(asked),
        probe=judge.words(),
        epochs=job.cursor.epoch,
        seconds=job.cursor.seconds,
        seed=config.seed,
        data=data.name,
        run=str(folder.folder),
        inexact=environment.get("inexact", False),
    )
    folder.keep(result)
    _write(folder, asked, plan, data, job)
    draw(folder, asked, result.model_dump(mode="json"), job, judge)
    folder.seal(environment)
    return result


def _write(folder: Run, config: dict[str, Any], plan: "Plan", data: "Dataset", job: "Job") -> None:
    """Weights with what belongs to them, the table of all epochs, the assignment's log."""
    from safetensors.torch import save

    from vitruvius.pretraining import assignment_log as assignment
    from vitruvius.pretraining import autoencoders
    from vitruvius.pretraining import report as pretraining
    from vitruvius.training import evaluate as judge

    lines = folder.records()
    files.write(folder.path("model.safetensors"), save(autoencoders.weights(job.model)))
    files.write_json(
        folder.path("model.json"), {**autoencoders.described(plan, job.model), **judge.labels(data)}
    )
    files.write(folder.path("log.csv"), pretraining.csv(lines))
    if plan.model != "vit":
        files.write_json(
            folder.path("submission_log.json"), assignment.log(lines, config, pretraining.curves)
        )


def draw(folder: Run, config: dict[str, Any], result: dict[str, Any], job: "Job", judge: "Judge") -> None:
    """Curves, angles, reconstructions, report and model card."""
    from vitruvius.pretraining import report as pretraining
    from vitruvius.pretraining.evaluate import pictures
    from vitruvius.render import page as html
    from vitruvius.render import figures as drawings

    figures = pretraining.curves(folder.records()) | pretraining.angles(result["certificates"])
    images = judge.validation if len(judge.validation) else job.train
    if images.x.ndim == 4:
        figures["reconstructions"] = pretraining.reconstructions(pictures(job.model, images))
    for name, figure in figures.items():
        drawings.write_png(figure, folder.path(f"{name}.png"))
    blocks = pretraining.report(result, config, figures)
    files.write(folder.path("report.html"), html.page(f"Pretraining on {result['data']}", blocks))
    files.write(folder.path("README.md"), render.markdown(pretraining.card(result, config)))
