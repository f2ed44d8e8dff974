"""What a training ends with: its result, and curves, confusion, report and model card in its folder."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core import files, records
from vitruvius.core.blocks import Block, Text
from vitruvius.core.runs import Run
from vitruvius.doctor.results import Found
from vitruvius.render import text as render

if TYPE_CHECKING:
    from vitruvius.datasets import Dataset
    from vitruvius.training.loop import Job
    from vitruvius.verbs.train import Config


class Result(records.Result):
    """A trained network, judged once on the test images with the weights of its best validation epoch."""

    test_accuracy: float
    test_loss: float
    val_accuracy: float | None
    best_epoch: int
    epochs: int
    seconds: float
    images_per_second: float
    params: int
    seed: int
    run: str
    data: str
    compile: str
    inexact: bool
    findings: tuple[Found, ...] = ()
    """What --doctor found."""

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """1 if the doctor has proven something wrong."""
        return int(any(found.severity == "error" for found in self.findings))

    def view(self) -> Iterable[Block]:
        val = f", validation {self.val_accuracy:.2%}" if self.val_accuracy is not None else ""
        yield Text(
            text=f"test accuracy {self.test_accuracy:.2%}{val} (epoch {self.best_epoch} of {self.epochs}), "
            f"{self.params:,} parameters, {self.seconds:.0f} s, {self.images_per_second:,.0f} images/s",
            style="title",
        )
        for found in self.findings:
            yield Text(text=f"doctor: {found.severity}: {found.bug}: {found.evidence}", style="note")
        yield Text(text=f"run: {self.run}", style="note")


def finish(
    run: Run, config: "Config", data: "Dataset", arch: Arch, job: "Job", known: dict[str, Any]
) -> Result:
    """Judge the best weights on the test images, once, and write what people look at; `known` goes into the result."""
    from vitruvius.training import evaluate as judge

    files.write_json(run.path("model.json"), {"arch": arch.model_dump(mode="json"), **judge.labels(data)})
    test = judge.tested(job, data)
    result = Result(
        test_accuracy=test.accuracy,
        test_loss=test.loss,
        val_accuracy=job.cursor.best_score if len(data.validation) and job.cursor.best_epoch else None,
        best_epoch=job.cursor.best_epoch,
        epochs=job.cursor.epoch,
        seconds=job.cursor.seconds,
        images_per_second=judge.speed(run.records()),
        params=cost.cost(arch).params,
        seed=config.seed,
        run=str(run.folder),
        data=data.name,
        compile=config.compile,
        **known,
    )
    run.keep(result)
    _draw(run, config, data, result, test.confusion)
    return result


def _draw(run: Run, config: "Config", data: "Dataset", result: Result, confusion: Any) -> None:
    """Curves, confusion, report and model card: made from records alone."""
    from vitruvius.render import page as html
    from vitruvius.render import figures
    from vitruvius.training import report as training

    curves = training.curves(run.records())
    mistakes = training.confusion(data.classes, confusion)
    figures.write_png(curves, run.path("curves.png"))
    figures.write_png(mistakes, run.path("confusion.png"))
    facts = training.facts(
        result.model_dump(mode="json", exclude={"findings"}), config.model_dump(mode="json")
    )
    said = [block for found in result.findings for block in found.view()]
    doctor = [Text(text="Findings of the doctor", style="title"), *said] if said else []
    page = html.page(f"{config.arch} on {data.name}", [*facts, *doctor, curves, mistakes])
    files.write(run.path("report.html"), page)
    files.write(run.path("README.md"), render.markdown(training.card(config.arch, data.source, facts)))
