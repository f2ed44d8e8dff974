"""What a pretraining leaves in its folder beside the records: weights, tables, the assignment's log, pictures."""

from typing import TYPE_CHECKING, Any

from vitruvius.core import files, render
from vitruvius.core.runs import Run

if TYPE_CHECKING:
    from vitruvius.datasets import Dataset
    from vitruvius.engine.autoencoders import Plan
    from vitruvius.engine.loop import Job
    from vitruvius.engine.pretraining import Judge


def write(folder: Run, config: dict[str, Any], plan: "Plan", data: "Dataset", job: "Job") -> None:
    """Weights with what belongs to them, the table of all epochs, the assignment's log."""
    from safetensors.torch import save

    from vitruvius.engine import assignment, autoencoders, judge
    from vitruvius.report import pretraining

    lines = folder.records()
    files.write(folder.path("model.safetensors"), save(autoencoders.weights(job.model)))
    files.write_json(folder.path("model.json"), {**autoencoders.described(plan, job.model), **judge.labels(data)})
    files.write(folder.path("log.csv"), pretraining.csv(lines))
    if plan.model != "vit":
        files.write_json(folder.path("submission_log.json"), assignment.log(lines, config, pretraining.curve))


def draw(folder: Run, config: dict[str, Any], result: dict[str, Any], job: "Job", judge: "Judge") -> None:
    """Curves, angles, reconstructions, report and model card."""
    from vitruvius.engine.pretraining import pictures
    from vitruvius.report import html, png, pretraining

    figures = pretraining.curves(folder.records()) | pretraining.angles(result["certificates"])
    images = judge.validation if len(judge.validation) else job.train
    if images.x.ndim == 4:
        figures["reconstructions"] = pretraining.reconstructions(pictures(job.model, images))
    for name, figure in figures.items():
        png.draw(figure, folder.path(f"{name}.png"))
    blocks = pretraining.report(result, config, figures)
    files.write(folder.path("report.html"), html.page(f"Pretraining on {result['data']}", blocks))
    files.write(folder.path("README.md"), render.markdown(pretraining.card(result, config)))
