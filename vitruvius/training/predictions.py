"""What a network says about pictures: classes with their probabilities, as a table, CSV and JSON lines."""

from collections.abc import Iterable

from vitruvius.core import files, records
from vitruvius.core.blocks import Block, Table, Text
from vitruvius.core.config import Strict


class Guess(Strict):
    """A class and its probability."""

    name: str
    probability: float


class Prediction(Strict):
    """The most probable classes of one image, or why it could not be read."""

    image: str
    guesses: tuple[Guess, ...] = ()
    attention: str | None = None
    """The picture of the patches that the model attends to, if one was asked for."""
    failed: str | None = None


class Predictions(records.Result):
    """All predictions, and the pictures of the model itself."""

    predictions: tuple[Prediction, ...]
    model: str
    """The training run, or the network of the package."""
    run: str
    distance: str | None = None
    """The picture of the attention distances; with --overlay, or without images."""
    positions: str | None = None
    format: str = "table"

    @property
    def exit_code(self) -> int:
        """1 if an image could not be read, else 0."""
        return int(any(prediction.failed for prediction in self.predictions))

    def view(self) -> Iterable[Block]:
        if self.format != "table":
            yield Text(text=(self.csv() if self.format == "csv" else self.jsonl()).rstrip("\n"))
            return
        rows = []
        for prediction in self.predictions:
            if prediction.failed:
                rows.append((prediction.image, f"not read: {prediction.failed}", ""))
            for index, guess in enumerate(prediction.guesses):
                rows.append(("" if index else prediction.image, guess.name, f"{guess.probability:.2%}"))
        if rows:
            yield Table(columns=("image", "class", "probability"), rows=tuple(rows))
        yield Text(text=f"predictions.csv, predictions.jsonl and pictures: {self.run}", style="note")

    def jsonl(self) -> str:
        """Return a JSON object per image on a line of its own."""
        return "".join(f"{prediction.model_dump_json()}\n" for prediction in self.predictions)

    def csv(self) -> str:
        """Return a line per image: its classes with their probabilities, or why it could not be read."""
        most = max((len(prediction.guesses) for prediction in self.predictions), default=0)
        lines = []
        for prediction in self.predictions:
            line: dict[str, str | float | None] = {"image": prediction.image}
            for index in range(most):
                known = prediction.guesses[index] if index < len(prediction.guesses) else None
                line[f"class_{index + 1}"] = known.name if known else None
                line[f"probability_{index + 1}"] = known.probability if known else None
            lines.append({**line, "failed": prediction.failed})
        return files.csv_text(lines)
