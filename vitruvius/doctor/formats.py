"""A diagnosis for other programs: SARIF for code scanning, workflow commands for GitHub, JUnit XML for CI."""

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree  # nosec B405 # written only, never parsed

from vitruvius.checks import Finding
from vitruvius.core import plugins
from vitruvius.core.visible import visible
from vitruvius.doctor.results import Result

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
SARIF_LEVELS = {"error": "error", "warning": "warning", "info": "note"}
GITHUB_COMMANDS = {"error": "error", "warning": "warning", "info": "notice"}


def as_sarif(result: Result) -> str:
    """The findings as SARIF 2.1.0: a rule for each check, a notification for each that could not be made."""
    names = _checks(result)
    notes = [
        {
            "associatedRule": {"id": skipped.check, "index": names.index(skipped.check)},
            "level": "note",
            "message": {"text": visible(f"not checked: {skipped.why}")},
        }
        for skipped in result.skipped
    ]
    run = {
        "tool": {
            "driver": {
                "name": "vitruvius doctor",
                "version": version("vitruvius"),
                "rules": [_sarif_rule(name) for name in names],
            }
        },
        "invocations": [
            {
                "executionSuccessful": result.script_exit == 0,
                "exitCode": result.script_exit,
                "toolExecutionNotifications": notes,
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_sarif_result(finding, names.index(finding.bug)) for finding in result.findings],
    }
    return json.dumps({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _sarif_rule(name: str) -> dict[str, Any]:
    known = plugins.members("checks").get(name)
    return {
        "id": name,
        "shortDescription": {"text": known.summary if known else name},
        "help": {"text": f"vitruvius doctor run --explain {name}"},
    }


def _sarif_result(finding: Finding, rule: int) -> dict[str, Any]:
    """A finding with its place; a file in the working directory is named relative to it."""
    found: dict[str, Any] = {
        "ruleId": finding.bug,
        "ruleIndex": rule,
        "level": SARIF_LEVELS[finding.severity],
        "message": {"text": _message(finding)},
        "properties": {"confidence": finding.confidence},
    }
    location: dict[str, Any] = {}
    file, line = _location(finding)
    if file:
        address = {"uri": file.as_uri()}
        if inside := _inside(file):
            address = {"uri": quote(inside.as_posix()), "uriBaseId": "%SRCROOT%"}
        location["physicalLocation"] = {"artifactLocation": address, "region": {"startLine": line}}
    if finding.module:
        location["logicalLocations"] = [{"fullyQualifiedName": visible(finding.module), "kind": "object"}]
    return found | ({"locations": [location]} if location else {})


def as_github(result: Result) -> str:
    """The findings as workflow commands, which GitHub shows at the lines of a pull request."""
    lines = []
    for finding in result.findings:
        file, line = _location(finding)
        properties = {"file": str(_inside(file) or file), "line": str(line)} if file else {}
        properties["title"] = f"{finding.bug} ({finding.confidence})"
        said = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in properties.items())
        lines.append(f"::{GITHUB_COMMANDS[finding.severity]} {said}::{_escaped(_message(finding))}")
    if result.script_exit:
        lines.append(f"::error title=vitruvius doctor::{_escaped(visible(result.ending))}")
    return "\n".join([*lines, f"::notice title=vitruvius doctor::{_escaped(result.verdict)}"])


def _escaped(text: str, further: str = "") -> str:
    r"""A text that cannot end a workflow command; in properties colons and commas are escaped too.

    >>> _escaped("50 %\n::error::x"), _escaped("a:b,c", ":,")
    ('50 %25%0A::error::x', 'a%3Ab%2Cc')
    """
    for character in "%\r\n" + further:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def as_junit(result: Result) -> str:
    """A test case for each check, which fails where its findings make the exit code 1; one for the script."""
    names = _checks(result)
    skipped = {skipped.check: skipped.why for skipped in result.skipped}
    failing = {finding.bug for finding in result.failing}
    counts = {"tests": len(names) + 1, "failures": len(failing), "errors": int(result.script_exit != 0)}
    counts["skipped"] = len(skipped.keys() - {finding.bug for finding in result.findings})
    attributes = {name: str(count) for name, count in counts.items()} | {"time": str(result.seconds)}
    suites = ElementTree.Element("testsuites", attributes)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": "vitruvius doctor", **attributes})
    for name in names:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "vitruvius.doctor", "name": name})
        found = [finding for finding in result.findings if finding.bug == name]
        text = "\n\n".join(f"{visible(finding.where)}\n{_message(finding)}".strip() for finding in found)
        if name in failing:
            attributes = {"type": found[0].severity, "message": visible(found[0].evidence)}
            ElementTree.SubElement(case, "failure", attributes).text = text
        elif found:
            ElementTree.SubElement(case, "system-out").text = text
        elif name in skipped:
            ElementTree.SubElement(case, "skipped", {"message": visible(skipped[name])})
    case = ElementTree.SubElement(suite, "testcase", {"classname": "vitruvius.doctor", "name": "script"})
    if result.script_exit:
        message = visible(result.ending)
        ElementTree.SubElement(case, "error", {"type": "exit", "message": message})
    ElementTree.indent(suites)
    # ASCII: what other characters there are is written by number, whatever the encoding of stdout.
    return ElementTree.tostring(suites, "us-ascii", xml_declaration=True).decode("ascii")


FORMATS: dict[str, Callable[[Result], str]] = {"sarif": as_sarif, "github": as_github, "junit": as_junit}


def _checks(result: Result) -> list[str]:
    """The names of all checks, made or not, in alphabetical order."""
    found = {finding.bug for finding in result.findings}
    return sorted({*result.checked, *(skipped.check for skipped in result.skipped), *found})


def _message(finding: Finding) -> str:
    return visible(f"{finding.evidence}.\nWhy: {finding.why}.\nFix: {finding.fix}.")


def _location(finding: Finding) -> tuple[Path | None, int]:
    """The absolute path and the line that a finding names; (None, 0) if it names no line of a file."""
    file, _, line = finding.where.rpartition(":")
    if not file or not line.isdigit() or int(line) < 1 or file.startswith("<"):
        return None, 0
    return Path(file).absolute(), int(line)


def _inside(file: Path | None) -> Path | None:
    """The path relative to the working directory, as a checkout names its files; None if it lies outside."""
    return file.relative_to(Path.cwd()) if file and file.is_relative_to(Path.cwd()) else None
