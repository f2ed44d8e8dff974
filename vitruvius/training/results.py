"""What a training reports: a record per epoch, the score on the test images, and the result. No torch.

Files of older runs are read through the same types: unknown keys are ignored, missing ones have defaults.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from pydantic import ConfigDict

from vitruvius.checks import Finding
from vitruvius.core import records
from vitruvius.core.blocks import Block, Text
from vitruvius.core.config import Strict

READS_OLDER = ConfigDict(extra="ignore")


class Timing(Strict):
    """The part of a record that differs between runs of the same work."""

    model_config: ClassVar[ConfigDict] = READS_OLDER
    seconds: float
    images_per_second: float


class Epoch(records.Record):
    """One epoch: means over its training samples, and the validation set after it."""

    model_config: ClassVar[ConfigDict] = READS_OLDER
    epoch: int
    train_loss: float
    train_accuracy: float | None
    val_loss: float | None
    val_accuracy: float | None
    lr: float
    grad_norm: float
    timing: Timing

    def row(self) -> dict[str, Any]:
        """Return a row of log.csv."""
        return {**self.model_dump(exclude={"timing"}), **self.timing.model_dump()}

    def view(self) -> Iterable[Block]:
        text = f"epoch {self.epoch:>3}  loss {self.train_loss:.4f}"
        text += "" if self.val_loss is None else f"  validation loss {self.val_loss:.4f}"
        text += "" if self.train_accuracy is None else f"  accuracy {self.train_accuracy:.2%}"
        text += "" if self.val_accuracy is None else f"  validation accuracy {self.val_accuracy:.2%}"
        yield Text(text=f"{text}  {self.timing.seconds:.1f} s, {self.timing.images_per_second:,.0f} images/s")


class Paused(records.Record):
    """A training that pauses after a given number of steps: the validation set by the weights it has then."""

    is_kept: ClassVar[bool] = False
    step: int
    val_loss: float
    val_accuracy: float | None


class TestScore(Strict):
    """Loss, accuracy and confusion counts of a classifier on the test images."""

    __test__: ClassVar[bool] = False  # pytest would collect a class of this name
    loss: float
    accuracy: float
    confusion: tuple[tuple[int, ...], ...]  # true class by predicted class


class Reading(Strict):
    """One look at the test images: after how many epochs, with which weights (SHA-256), what was found."""

    epochs: int
    weights: str
    score: TestScore


class Readings(Strict):
    """All looks of a run at the test images, the file test.json."""

    earlier: int = 0
    """Looks of older versions, which did not keep what they found."""
    readings: tuple[Reading, ...] = ()

    @property
    def count(self) -> int:
        """Return how often the test images were read."""
        return self.earlier + len(self.readings)

    def of(self, weights: str) -> TestScore | None:
        """Return the score of these weights, None if they were not tested."""
        return next((reading.score for reading in self.readings if reading.weights == weights), None)


class Baseline(Strict):
    """A simple classifier of pixels and its accuracies; None: there are no such images, or not yet read."""

    model_config: ClassVar[ConfigDict] = READS_OLDER
    name: str
    val_accuracy: float | None
    test_accuracy: float | None = None
    l2: float | None = None
    """The penalty of the linear probe, chosen on the validation images."""


class Baselines(records.Record):
    """What a network has to beat: simple classifiers of pixels on the same split, the file baselines.json."""

    model_config: ClassVar[ConfigDict] = READS_OLDER
    found: tuple[Baseline, ...]
    images: int
    """Training images that were used."""
    side: int
    """Side to which the images were averaged."""
    mirrored: bool | None = None
    """Whether the better of them recognises mirrored validation images as well; None: not known."""

    def best(self, part: str) -> Baseline | None:
        """Return the best on `val` or `test` images, None if there is no accuracy on these."""
        known = [one for one in self.found if getattr(one, f"{part}_accuracy") is not None]
        return max(known, key=lambda one: float(getattr(one, f"{part}_accuracy")), default=None)

    def sentence(self, part: str) -> str:
        """Name each with its accuracy on `val` or `test` images."""
        known = [(one.name, getattr(one, f"{part}_accuracy")) for one in self.found]
        shown = ", ".join(f"{name} {value:.2%}" for name, value in known if value is not None)
        return f"{shown} (pixels of {self.images:,} training images)" if shown else ""

    def view(self) -> Iterable[Block]:
        if shown := self.sentence("val"):
            yield Text(text=f"to beat on the validation images: {shown}", style="note")


class Result(records.Result):
    """A trained network with its test score, measured with the weights of the best validation epoch."""

    model_config: ClassVar[ConfigDict] = READS_OLDER
    test_accuracy: float | None
    """None without test images, and for a run that has not ended as planned."""
    test_loss: float | None
    test_images: int | None = None
    """None in results of older versions."""
    test_readings: int = 1
    """How often the test images were read in all."""
    finished: bool = True
    """Whether the run has reached its last epoch."""
    val_accuracy: float | None
    best_epoch: int
    epochs: int
    warmup_steps: int | None = None
    """The steps of the warm-up that fitted into the training."""
    seconds: float
    images_per_second: float
    params: int
    seed: int
    run: str
    data: str
    compile: str
    inexact: bool = False
    findings: tuple[Finding, ...] = ()
    """The findings of --doctor."""
    baselines: Baselines | None = None
    """Simple classifiers of pixels on the same split."""
    against_baselines: str = ""
    """Whether the network is better than those, and why it is not."""
    chosen: tuple[str, ...] = ()
    """What was chosen for the data, a sentence for each choice."""

    @property
    def about_test(self) -> str:
        """Say whether and how often the test images were read."""
        times = "once" if self.test_readings == 1 else f"{self.test_readings} times"
        if self.test_images == 0:
            return "There is no test set."
        if not self.finished:
            earlier = f"; before it was continued they were read {times}" if self.test_readings else ""
            return f"The run has not ended as planned: its weights were not tested{earlier}."
        if self.test_readings == 1:
            return "The test images were read once, at the end."
        return f"The test images were read {times}, as the run was continued after its end."

    @property
    def about_weights(self) -> str:
        """Say which weights were kept."""
        if not self.best_epoch:
            return "those of the moment at which the run was stopped, before its first epoch had ended"
        return f"those of the {'last epoch' if self.val_accuracy is None else 'best validation epoch'}"

    @property
    def exit_code(self) -> int:
        """1 if the doctor has found an error, else 0."""
        return int(any(finding.severity == "error" for finding in self.findings))

    def view(self) -> Iterable[Block]:
        found = [f"test accuracy {self.test_accuracy:.2%}"] if self.test_accuracy is not None else []
        found += [f"validation {self.val_accuracy:.2%}"] if self.val_accuracy is not None else []
        yield Text(
            text=f"{', '.join(found) or 'not tested'} (epoch {self.best_epoch} of {self.epochs}), "
            f"{self.params:,} parameters, {self.seconds:.0f} s, {self.images_per_second:,.0f} images/s",
            style="title",
        )
        if self.against_baselines:
            yield Text(text=self.against_baselines, style="note")
        if self.test_accuracy is None or self.test_readings > 1:
            yield Text(text=self.about_test, style="note")
        for finding in self.findings:
            yield Text(text=f"doctor: {finding.severity}: {finding.bug}: {finding.evidence}", style="note")
        yield Text(text=f"run: {self.run}", style="note")


def epochs(lines: Iterable[dict[str, Any]]) -> list[Epoch]:
    """Return the epoch records among the lines of a records.jsonl."""
    return [Epoch(**line) for line in lines if line.get("kind") == "epoch"]


def images_per_second(epochs: Sequence[Epoch]) -> float:
    """Return the mean training speed over all epochs."""
    seconds = sum(epoch.timing.seconds for epoch in epochs)
    images = sum(epoch.timing.seconds * epoch.timing.images_per_second for epoch in epochs)
    return images / seconds if seconds else 0.0
