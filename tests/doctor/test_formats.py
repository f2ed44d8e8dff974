"""Other programs read a diagnosis: valid SARIF, workflow commands that cannot be forged, well-formed XML."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from vitruvius.checks import Finding
from vitruvius.doctor.formats import as_github, as_junit, as_sarif
from vitruvius.doctor.results import Result, Skipped

NASTY = 'loss < "1e-3" & 50 % \x1b[31m\x7f\u202e\r\n::error::forged, caf\u00e9 ]]>'
"""Text that ends tags, commands and lines, and that steers terminals."""


def finding(severity: str, where: str, **fields: Any) -> Finding:
    facts = {"bug": "zero_grad", "evidence": NASTY, "why": "because", "fix": "do it", **fields}
    return Finding.model_validate({"severity": severity, "where": where, **facts})


@pytest.fixture
def result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Result:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my train, 2.py").write_text("x = 1\n")
    return Result(
        findings=(
            finding("error", "my train, 2.py:1", confidence="exact", module="body.1"),
            finding("warning", f"{tmp_path.parent}/lib.py:7", bug="same_order"),
            finding("info", "", bug="frozen"),
        ),
        checked=("frozen", "same_order", "zero_grad"),
        skipped=(Skipped(check="vanishing", why=NASTY),),
        steps=3,
        script_exit=4,
    )


def test_sarif_names_rule_level_and_place(result: Result, tmp_path: Path) -> None:
    text = as_sarif(result)
    assert text.isascii()
    assert "\x7f" not in text
    log = json.loads(text)
    (run,) = log["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert log["version"] == "2.1.0"
    assert rules == ["frozen", "same_order", "vanishing", "zero_grad"]
    found = run["results"]
    assert [(item["ruleId"], item["level"]) for item in found] == [
        ("zero_grad", "error"),
        ("same_order", "warning"),
        ("frozen", "note"),
    ]
    assert all(rules[item["ruleIndex"]] == item["ruleId"] for item in found)
    inside = found[0]["locations"][0]
    assert inside["physicalLocation"]["artifactLocation"] == {
        "uri": "my%20train%2C%202.py",
        "uriBaseId": "%SRCROOT%",
    }
    assert inside["physicalLocation"]["region"] == {"startLine": 1}
    assert inside["logicalLocations"][0]["fullyQualifiedName"] == "body.1"
    outside = found[1]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert outside == {"uri": (tmp_path.parent / "lib.py").as_uri()}
    assert "locations" not in found[2]
    (invocation,) = run["invocations"]
    assert (invocation["executionSuccessful"], invocation["exitCode"]) == (False, 4)
    assert invocation["toolExecutionNotifications"][0]["associatedRule"] == {"id": "vanishing", "index": 2}


def test_a_workflow_command_is_one_line_that_no_text_can_end(result: Result) -> None:
    lines = as_github(result).splitlines()
    assert [line.split(" ")[0] for line in lines] == [
        "::error",
        "::warning",
        "::notice",
        "::error",
        "::notice",
    ]
    assert lines[0].startswith("::error file=my train%2C 2.py,line=1,title=zero_grad (exact)::loss < ")
    assert "50 %25 " in lines[0]
    assert "%0A::error::forged" in lines[0]
    assert "file=" not in lines[2]
    assert "exit code 4" in lines[3]
    assert "1 bug, 1 suspicion, 1 note; 3 of 4 checks could be made" in lines[4]


def test_a_clean_run_says_so_to_github() -> None:
    clean = Result(checked=("frozen",), skipped=(Skipped(check="vanishing", why="no"),))
    assert as_github(clean) == "::notice title=vitruvius doctor::no bug found; 1 of 2 checks could be made"


@pytest.mark.parametrize(
    ("fail_on", "failed"), [("error", ["zero_grad"]), ("warning", ["same_order", "zero_grad"])]
)
def test_junit_fails_the_checks_that_fail_the_build(result: Result, fail_on: str, failed: list[str]) -> None:
    text = as_junit(result.model_copy(update={"fail_on": fail_on}))
    assert text.isascii()
    suite = ElementTree.fromstring(text)[0]
    cases = {case.attrib["name"]: case for case in suite}
    assert [name for name, case in cases.items() if case.find("failure") is not None] == failed
    assert [suite.attrib[name] for name in ("tests", "failures", "errors", "skipped")] == [
        "5",
        str(len(failed)),
        "1",
        "1",
    ]
    assert len(cases) == 5
    failure = cases["zero_grad"].find("failure")
    assert failure is not None
    assert failure.text is not None
    assert failure.text.startswith('my train, 2.py:1\nloss < "1e-3" & 50 % \\x1b[31m\\x7f\\u202e\\r\n::error')
    assert "caf\u00e9 ]]>" in failure.text
    assert cases["vanishing"].find("skipped") is not None
    assert cases["frozen"].find("system-out") is not None
    assert cases["script"].find("error") is not None
