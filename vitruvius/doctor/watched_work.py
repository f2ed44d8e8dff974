"""Watch work that yields records: a training of this package, diagnosed like a person's script."""

from collections.abc import Generator, Iterator

from vitruvius.checks import Finding
from vitruvius.core.errors import VitruviusError
from vitruvius.core.records import Record
from vitruvius.doctor import diagnose, user_code
from vitruvius.doctor.results import Watched


def watched(work: Iterator[Record], *sources: str) -> Generator[Record, None, tuple[Finding, ...]]:
    """Yield the records of a training and then the findings, also if the training fails.

    The source files of the training count as the user's: findings name lines in them.
    """
    report, failure = diagnose.Report(), None
    try:
        with user_code.as_users(set(sources)), diagnose.watch() as report:
            yield from work
    except VitruviusError as error:  # the findings may say why it failed
        failure = error
    if failure is None or report.result.checked:
        yield from report.findings
        yield Watched(result=report.result)
    if failure:
        raise failure
    return report.findings
