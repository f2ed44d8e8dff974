"""The report of a diagnosis that is kept: findings with the source lines as they were."""

from vitruvius.core import files, runs
from vitruvius.core.runs import RunFolder
from vitruvius.doctor.results import Quoted, Result
from vitruvius.render import page


def write(folder: RunFolder, script: str, result: Result) -> None:
    """Write the findings, the lines that they name, the result and report.html."""
    for finding in result.findings:
        folder.keep(finding)
        if source := finding.source():
            folder.keep(Quoted(where=finding.where, source=source))
    folder.keep(result)
    files.write(folder.path("report.html"), page.page(f"Diagnosis of {script}", result.view()))
    folder.seal(runs.environment())
