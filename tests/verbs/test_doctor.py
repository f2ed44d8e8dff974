"""The doctor as a command: findings, JSON and exit codes; bad input is refused in a sentence."""

import json
import subprocess
import sysconfig
from pathlib import Path

import pytest

from vitruvius.cli import main
from vitruvius.core import plugins

CONSOLE = Path(sysconfig.get_path("scripts")) / "vitruvius"
FORGETFUL = """
import sys
import torch
print("given", sys.argv[1:])
net = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    net(torch.randn(8, 3)).square().mean().backward()
    optimizer.step()
"""
HEALTHY = FORGETFUL.replace("    net(", "    optimizer.zero_grad()\n    net(")
KEYS = {"findings", "checked", "skipped", "steps", "watched", "seconds", "overhead", "script_exit", "crash"}
FINDING_KEYS = {"bug", "severity", "confidence", "where", "module", "evidence", "why", "fix", "patch"}
FACTORY = """
import torch
from torch import nn
def sick():
    net = nn.Sequential(nn.Linear(3, 4), nn.Softmax(1))
    return net, nn.functional.cross_entropy, (torch.randn(8, 3), torch.randint(0, 4, (8,)))
def healthy():
    return nn.Linear(3, 4), nn.functional.cross_entropy, (torch.randn(8, 3), torch.randint(0, 4, (8,)))
def normed():
    net = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))
    return net, nn.functional.cross_entropy, (torch.randn(32, 3), torch.randint(0, 4, (32,)))
def nothing():
    return 3
"""
ACCUMULATING = """
import torch
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU())
        self.head = nn.Linear(8, 1)
    def forward(self, x):
        return self.head(self.body(x))
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(12):
    x = torch.randn(8, 3)
    (net(x) - x[:, :1]).square().mean().div(4).backward()
    if step % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
print(sum(value.double().sum().item() for value in net.state_dict().values()), torch.rand(1).item())
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(FORGETFUL)
    return path


def test_a_finding_names_line_evidence_and_fix(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "run", str(script)]) == 1
    out = capsys.readouterr().out
    assert f"{script}:8: error: zero_grad (exact)" in out
    assert "       9 |     optimizer.step()\n  +      |     optimizer.zero_grad()\n  in 5 of 6 steps" in out
    script.write_text(plugins.module("checks", "mixed_rows").SICK)
    assert main(["doctor", "run", str(script)]) == 1
    assert "  Fix: batch_first=True, or the right axis" in capsys.readouterr().out


def test_json_is_alone_on_stdout_and_the_script_speaks_on_stderr(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "run", "--json", "--steps", "4", str(script), "--json", "--lr", "3"]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith("given ['--json', '--lr', '3']")
    result = json.loads(shown.out)
    assert set(result) == KEYS
    assert [set(found) for found in result["findings"]] == [FINDING_KEYS]
    assert result["findings"][0]["where"] == f"{script}:8"
    assert (result["steps"], result["script_exit"]) == (4, 0)
    assert len(result["checked"]) >= 30


def test_the_words_after_the_script_are_its_own(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(HEALTHY)
    assert main(["doctor", "run", str(script), "--help", "--steps", "x"]) == 0
    assert "given ['--help', '--steps', 'x']" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "which script?"),
        (["nowhere.py"], "nowhere.py: no such file or directory"),
        (["--stpes", "3", "x.py"], "did you mean '--steps'?"),
        (["--steps", "0", "x.py"], "steps"),
        (["--format", "xml", "x.py"], "format"),
        (["--format", "sarif", "--json", "x.py"], "two formats: leave one out"),
        (["--explain", "zero_gard"], "no check 'zero_gard': did you mean 'zero_grad'?"),
        (["--explain", "zero_grad", "x.py"], "--explain runs nothing"),
        (["-m", "nowhere.train"], "no module 'nowhere.train'"),
        (["-m", "json.nowhere"], "no module 'json.nowhere'"),
        (["-m", "json.tool.more"], "no module 'json.tool.more'"),
        (["-m", "..train"], "no module '..train'"),
    ],
)
def test_bad_words_are_named(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "run", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_syntax_error_is_named_with_its_line(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text("import torch\nx = (\n")
    assert main(["doctor", "run", str(script)]) == 2
    assert f"{script}:2: syntax error: '(' was never closed" in capsys.readouterr().err


def test_a_script_that_never_trains_is_said_so(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text("print('hello')\n")
    assert main(["doctor", "run", str(script)]) == 0
    assert "nothing was checked: neither a backward pass nor a step was seen" in capsys.readouterr().out


@pytest.mark.parametrize(("last", "code"), [("sys.exit(5)", 5), ("sys.exit()", 0), ("sys.exit('over')", 1)])
def test_an_exit_is_the_scripts_own(
    script: Path, last: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text(f"{HEALTHY}{last}\n")
    assert main(["doctor", "run", "--json", str(script)]) == code
    shown = capsys.readouterr()
    assert json.loads(shown.out)["script_exit"] == code
    assert ("over" in shown.err) == ("over" in last)


def test_an_error_of_the_script_is_shown_with_the_findings(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text(f"{FORGETFUL}1 / 0\n")
    assert main(["doctor", "run", str(script)]) == 1
    shown = capsys.readouterr()
    assert "ZeroDivisionError" in shown.err
    assert f'File "{script}", line 10' in shown.err
    assert "diagnose.py" not in shown.err
    crash, line, verdict, finding = shown.out.splitlines()[1:5]
    assert crash == f"{script}:10: the script crashed: ZeroDivisionError: division by zero"
    assert line == "  >   10 | 1 / 0"
    assert verdict.startswith("1 bug")
    assert finding == f"{script}:8: error: zero_grad (exact)"


def test_data_workers_are_left_alone(script: Path, capfd: pytest.CaptureFixture[str]) -> None:
    loader = "torch.utils.data.DataLoader(torch.randn(48, 3), 8, num_workers=1)"
    source = HEALTHY.replace("for step in range(6)", f"for x in {loader}").replace("torch.randn(8, 3)", "x")
    script.write_text(source)
    assert main(["doctor", "run", "--json", str(script)]) == 0
    assert json.loads(capfd.readouterr().out)["steps"] == 6


def test_a_model_is_checked_without_training(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(FACTORY)
    assert main(["doctor", "model", f"{script}:sick", "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert [found["bug"] for found in result["findings"] if found["severity"] == "error"] == [
        "double_softmax"
    ]
    assert main(["doctor", "model", f"{script}:healthy"]) == 0


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "which network?"),
        ("nowhere:x", "No module named 'nowhere'"),
        ("{}:nothing", "must return (model, loss"),
    ],
)
def test_what_is_no_factory_is_named(
    script: Path, name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text(FACTORY)
    assert main(["doctor", "model", *([name.format(script)] if name else [])]) == 2
    assert message in capsys.readouterr().err


def test_the_guilty_module_is_named_and_the_table_comes_on_request(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text(ACCUMULATING)
    assert main(["doctor", "run", "--table", "--json", str(script)]) == 0
    result = json.loads(capsys.readouterr().out)
    assert set(result) == KEYS | {"tables"}
    assert [(found["bug"], found["module"]) for found in result["findings"]] == [
        ("accumulation_norm", "body.1")
    ]
    (table,) = result["tables"]
    assert (table["network"], table["modules"], table["failed"]) == ("Net", ["body.1"], None)
    assert [(row["batch"], row["steps"]) for row in table["rows"]] == [(8, 1), (4, 2), (2, 4), (1, 8)]


def test_a_table_leaves_the_script_as_it_is(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text(ACCUMULATING.replace("net = Net()", "torch.manual_seed(0)\nnet = Net()"))
    said = []
    for words in ([], ["--table"]):
        assert main(["doctor", "run", *words, str(script)]) == 0
        said.append(capsys.readouterr().out.splitlines()[0])
    assert said[0] == said[1]


def test_a_model_has_a_table_of_all_six_combinations(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script.write_text(FACTORY)
    assert main(["doctor", "model", f"{script}:normed", "--table"]) == 0
    out = capsys.readouterr().out
    rows = [line.split()[:2] for line in out.splitlines() if line.strip()[:1].isdigit()]
    assert rows == [[str(size), str(32 // size)] for size in (32, 16, 8, 4, 2, 1)]
    assert "modules that mix rows: 1;" in out
    assert main(["doctor", "model", f"{script}:healthy", "--table"]) == 0
    assert "modules that mix rows: none;" in capsys.readouterr().out


def test_sarif_is_alone_on_stdout_and_the_exit_code_stays(
    script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "run", "--format", "sarif", str(script)]) == 1
    shown = capsys.readouterr()
    assert shown.err.startswith("given []")
    (found,) = json.loads(shown.out)["runs"][0]["results"]
    assert found["ruleId"] == "zero_grad"
    assert found["locations"][0]["physicalLocation"]["region"]["startLine"] == 8


@pytest.mark.parametrize(("name", "start"), [("github", "::error file="), ("junit", "<?xml version=")])
def test_a_format_fails_the_build_only_by_findings(
    name: str, start: str, script: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "run", "--format", name, str(script)]) == 1
    assert capsys.readouterr().out.startswith(start)
    script.write_text(HEALTHY)
    assert main(["doctor", "run", "--format", name, str(script)]) == 0
    assert "zero_grad (exact)" not in capsys.readouterr().out


def test_a_bug_is_explained_with_its_programs_and_its_lesson(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "run", "--explain", "zero_grad"]) == 0
    out = capsys.readouterr().out
    assert "nothing zeroes them between step() and backward()" in out
    sick, healthy = out.partition("Sick:")[2].split("Healthy:")
    assert "optimizer.zero_grad()" not in sick
    assert "        optimizer.zero_grad()" in healthy
    assert out.rstrip().endswith("vitruvius explain zero_grad")
    assert main(["doctor", "run", "--explain", "one_class", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["lesson"] is None


def test_every_lesson_that_a_check_names_exists() -> None:
    named = {
        name: plugins.constant(member.path, "LESSON") for name, member in plugins.members("checks").items()
    }
    assert {lesson for lesson in named.values() if lesson} <= set(plugins.members("lessons"))
    assert named["zero_grad"] == "zero_grad"


def test_m_runs_a_module_of_a_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    package = tmp_path / "studies"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "train.py").write_text(FORGETFUL)
    monkeypatch.chdir(tmp_path)
    assert main(["doctor", "run", "--steps", "4", "-m", "studies.train", "-m", "--epochs", "3"]) == 1
    out = capsys.readouterr().out
    assert "given ['-m', '--epochs', '3']" in out
    assert f"{Path('studies', 'train.py')}:8: error: zero_grad" in out


THREE = """
import torch
from torch import nn
net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 4), nn.Softmax(1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(3):
    for step in range(6):
        x = torch.randn(8, 3)
        torch.nn.functional.cross_entropy(net(x), x.argmax(1)).backward()
        optimizer.step()
    with torch.no_grad():
        net(torch.randn(8, 3)).mean()
"""


def test_three_findings_fit_on_one_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    Path("train.py").write_text(THREE)
    assert main(["doctor", "run", "train.py"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("2 bugs, 1 suspicion")
    notes = [index for index, text in enumerate(lines) if ": info: " in text or "steps watched" in text]
    assert notes[0] < 23  # a line for the steps, and one for the prompt
    assert max(len(line) for line in lines if " | " not in line) <= 80
    assert "  +      |         optimizer.zero_grad()" in lines


@pytest.mark.skipif(not CONSOLE.is_file(), reason="the package is not installed")
def test_the_place_is_the_factory_where_the_installed_command_checks_it(script: Path) -> None:
    """No running line is the user's: the command itself must not be taken for it."""
    script.write_text(FACTORY)
    line = next(number for number, text in enumerate(FACTORY.splitlines(), 1) if text.startswith("def sick"))
    ran = subprocess.run([CONSOLE, "doctor", "model", f"{script}:sick", "--json"], capture_output=True)
    found = json.loads(ran.stdout)["findings"]
    assert found
    assert {one["where"] for one in found} == {f"{script}:{line}"}
