"""What a training reports: a record per epoch, the score on the test images, and the result. No torch.

Files of older runs are read through the same types: unknown keys are ignored, missing ones have defaults.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from pydantic import ConfigDict

from vitruvius.checks import Finding
from vitruvius.core import records
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.core.config import Strict

QUANTILE = 1.959963984540054
"""Of the normal distribution: 95 % lie between minus and plus this."""
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


class RangeTest(Strict):
    """The losses of a training whose learning rate rises in every step, and the rate that was chosen."""

    rates: tuple[float, ...]
    losses: tuple[float, ...]
    chosen: float

    @property
    def smoothed(self) -> list[float]:
        """Return exponential averages of the losses."""
        return smoothed(self.losses)


def smoothed(losses: Sequence[float], weight: float = 0.8) -> list[float]:
    """Return exponential averages in which earlier values have `weight`, without the bias of the first ones.

    >>> [round(value, 3) for value in smoothed([1.0, 1.0, 4.0])]
    [1.0, 1.0, 2.23]
    """
    found, total = [], 0.0
    for count, loss in enumerate(losses, 1):
        total = weight * total + (1 - weight) * loss
        found.append(total / (1 - weight**count))
    return found


class Paused(records.Record):
    """A training that pauses after a given number of steps: the validation set by the weights it has then."""

    is_kept: ClassVar[bool] = False
    step: int
    val_loss: float
    val_accuracy: float | None


class Mistake(Strict):
    """An image that a classifier gets wrong."""

    index: int
    """Its index among the images that were classified."""
    true: str
    predicted: str
    probability: float
    """Of the predicted class."""


class ClassScore(Strict):
    """Recall and precision of one class, by counts."""

    name: str
    images: int
    right: int
    predicted: int
    """Images of any class that are classified as this one."""

    @property
    def recall(self) -> float | None:
        """Share of the images of this class that are found; None without images."""
        return self.right / self.images if self.images else None

    @property
    def precision(self) -> float | None:
        """Share of the images classified as this class that are of it; None without any."""
        return self.right / self.predicted if self.predicted else None


class TestScore(Strict):
    """Loss, accuracy and confusion counts of a classifier on images with known classes."""

    __test__: ClassVar[bool] = False  # pytest would collect a class of this name
    loss: float
    accuracy: float
    confusion: tuple[tuple[int, ...], ...]  # true class by predicted class; empty with very many classes
    per_class: tuple[tuple[int, int, int], ...] = ()
    """Images, right ones and predictions of each class, where there are too many for a matrix."""
    top5: float | None = None
    """How often the class is among the first five; None with ten classes or fewer."""
    wrong: tuple[Mistake, ...] = ()
    """The most confident mistakes."""

    @property
    def images(self) -> int:
        """Return how many images were classified."""
        return sum(images for images, _, _ in self.counts)

    @property
    def interval(self) -> tuple[float, float]:
        """Return the 95 % interval of the accuracy."""
        return wilson(sum(right for _, right, _ in self.counts), self.images)

    @property
    def counts(self) -> tuple[tuple[int, int, int], ...]:
        """Return the images, the right ones and the predictions of each class."""
        columns = [sum(column) for column in zip(*self.confusion, strict=True)]
        return self.per_class or tuple(
            (sum(row), row[index], columns[index]) for index, row in enumerate(self.confusion)
        )


def class_scores(classes: Sequence[str], score: TestScore) -> list[ClassScore]:
    """Return the score of every class by its counts."""
    return [
        ClassScore(name=name, images=images, right=right, predicted=predicted)
        for name, (images, right, predicted) in zip(classes, score.counts, strict=True)
    ]


def class_table(scores: Sequence[ClassScore], title: str = "") -> Table:
    """Show for every class how many images it has, how many are found, and how many predictions are right."""
    rows = []
    for one in scores:
        recall, precision = (
            None if share is None else f"{share:.1%}" for share in (one.recall, one.precision)
        )
        rows.append((one.name, one.images, one.right, recall, one.predicted, precision))
    columns = ("class", "images", "right", "recall", "predicted", "precision")
    return Table(title=title, columns=columns, rows=tuple(rows))


def wilson(right: int, images: int) -> tuple[float, float]:
    r"""Return the 95 % interval of a share by its score test (Wilson 1927); (0, 1) without images.

    $\frac{p + z^2/2n \pm z\sqrt{p(1-p)/n + z^2/4n^2}}{1 + z^2/n}$ with $z = 1.96$. It never leaves 0..1, and
    is no single point where all images are right.

    >>> [round(value, 4) for value in wilson(9, 10)]
    [0.5958, 0.9821]
    """
    if not images:
        return 0.0, 1.0
    share, z2 = right / images, QUANTILE**2 / images
    middle, half = share + z2 / 2, (z2 * (share * (1 - share) + z2 / 4)) ** 0.5
    return max(0.0, (middle - half) / (1 + z2)), min(1.0, (middle + half) / (1 + z2))


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
    most_judged: int | None = None
    """Of more validation or test images so many were classified; None in results of older versions: all."""
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
    test_interval: tuple[float, float] | None = None
    """The 95 % interval of the test accuracy."""
    test_top5: float | None = None
    """How often the right class is among the first five; None with ten classes or fewer."""
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
        if self.test_interval is not None:
            found[0] += " [{:.1%} to {:.1%}]".format(*self.test_interval)
        found += [f"validation {self.val_accuracy:.2%}"] if self.val_accuracy is not None else []
        epochs = f"epoch {self.best_epoch} of {self.epochs}" if self.epochs else "stopped in the first epoch"
        speed = f", {self.images_per_second:,.0f} images/s" if self.images_per_second else ""
        yield Text(
            text=f"{', '.join(found) or 'not tested'} ({epochs}), "
            f"{self.params:,} parameters, {self.seconds:.0f} s{speed}",
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


class Evaluation(records.Result):
    """A trained network on other data: how good it is there."""

    verdict: str
    accuracy: float
    interval: tuple[float, float]
    top5: float | None
    loss: float
    images: int
    part: str
    """Which part of the data was classified: all, test, validation or train."""
    data: str
    model: str
    classes: tuple[ClassScore, ...]
    notes: tuple[str, ...] = ()
    run: str

    def view(self) -> Iterable[Block]:
        yield Text(text=self.verdict, style="title")
        for note in self.notes:
            yield Text(text=note, style="note")
        yield class_table(self.classes)
        yield Text(text=f"report.html and pictures: {self.run}", style="note")
