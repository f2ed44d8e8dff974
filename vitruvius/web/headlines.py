"""What came out of a run, in a few words: the last column of the table of runs."""

from textwrap import shorten

from vitruvius.core import records
from vitruvius.core.blocks import Text
from vitruvius.core.counted import counted
from vitruvius.doctor.results import Result as Diagnosis
from vitruvius.measuring.results import Result as Measured
from vitruvius.pretraining.results import ProbeResult
from vitruvius.pretraining.results import Result as Pretrained
from vitruvius.ranking.evaluation import STRUCTURAL
from vitruvius.ranking.results import Result as Ranked
from vitruvius.searching.results import Result as Searched
from vitruvius.training.predictions import Predictions
from vitruvius.training.results import Result as Trained

LONGEST = 120


def headline(result: records.Result) -> str:
    """Say a result in a few words; of a type without a rule here, the first line that it shows."""
    if isinstance(result, Trained):
        return _trained(result)
    if isinstance(result, Ranked):
        return _ranked(result)
    if isinstance(result, Searched):
        return f"{result.winner.name} recommended, {result.accuracy}"
    if isinstance(result, Measured):
        return _measured(result)
    if isinstance(result, Pretrained):
        return _pretrained(result)
    if isinstance(result, ProbeResult) and result.rows:
        best = max(result.rows, key=lambda row: row.mean)
        return f"{best.mean:.2%} probe accuracy with {best.features}"
    if isinstance(result, Diagnosis):
        return result.verdict
    if isinstance(result, Predictions):
        return counted(len(result.predictions), "image")
    texts = (block.text for block in result.view() if isinstance(block, Text))
    return shorten(next(texts, "").partition("\n")[0], LONGEST, placeholder=" ...")


def _trained(result: Trained) -> str:
    if result.test_accuracy is not None:
        return f"{result.test_accuracy:.2%} test accuracy"
    if result.val_accuracy is not None:
        return f"{result.val_accuracy:.2%} validation accuracy"
    return "not tested"


def _ranked(result: Ranked) -> str:
    asked = [proxy for proxy in result.proxies if proxy not in STRUCTURAL] or result.proxies
    first = [row.name for row in result.archs if row.rank.get(asked[0]) == 1]
    if not first:
        return counted(len(result.archs), "network")
    tied = len(result.best.get(asked[0], ()))
    doubt = f"; {tied} cannot be told apart" if tied > 1 else ""
    doubt = "; one seed names no winner" if result.config.seeds < 2 else doubt
    return f"{first[0]} first of {len(result.archs)} by {asked[0]}{doubt}"


def _measured(result: Measured) -> str:
    if result.prices is not None:
        return f"price list of {result.prices.networks} networks, {result.prices.error:.1%} error"
    names = len({row.name for row in result.rows})
    timed = {row.median_ms: row.name for row in result.rows if row.median_ms is not None}
    if not timed:
        return "nothing could be measured"
    said = f"{names} networks, fastest {timed[min(timed)]} with" if names > 1 else f"{timed[min(timed)]},"
    return f"{said} {min(timed):.3g} ms a call"


def _pretrained(result: Pretrained) -> str:
    probed = [row.accuracy for row in result.outcomes if row.accuracy is not None]
    losses = [row.val_loss for row in result.outcomes if row.val_loss is not None]
    said = [f"{max(probed):.2%} probe accuracy"] if probed else []
    said += [f"validation loss {min(losses):.4g}"] if losses else []
    return ", ".join(said)
