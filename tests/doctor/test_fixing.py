"""Patches are tried on a copy and count only if the run of the copy proves them."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from vitruvius.cli import main
from vitruvius.core import plugins
from vitruvius.core.errors import UserError
from vitruvius.core.patch import Edit, Patch
from vitruvius.doctor import fixing, rerun
from vitruvius.doctor.results import Fixed, Result
from vitruvius.doctor.script import run_script

SICK = """import torch
from torch import nn
from torch.nn import functional as F
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 4), nn.Softmax(1))
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(2):
    for step in range(4):
        x = torch.randn(8, 3)
        F.cross_entropy(net(x), x.argmax(1)).backward()
        optimizer.step()
    with torch.no_grad():
        print(net(torch.randn(8, 3)).mean())
"""


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(SICK)
    return path


def here(script: Path) -> fixing.Diagnose:
    """Runs every copy in this process."""
    return lambda source: run_script(str(script), (), None, to_stderr=True, source=source)


def fixed(script: Path, run: fixing.Diagnose | None = None, bugs: tuple[str, ...] = ()) -> Fixed:
    *_, last = fixing.fixed(script, run or here(script), bugs)
    assert isinstance(last, Fixed)
    return last


def test_all_proven_errors_are_mended_on_a_copy(script: Path) -> None:
    done = fixed(script)
    assert [(found.bug, found.where) for found in done.mended] == [
        ("double_softmax", f"{script}:10"),
        ("zero_grad", f"{script}:10"),
    ]
    assert script.read_text() == SICK
    assert "nn.Softmax" not in done.source
    assert "        optimizer.zero_grad()\n" in done.source
    assert [
        line for line in done.diff.splitlines() if line[0] in "+-" and line[:3] not in ("+++", "---")
    ] == [
        "-net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 4), nn.Softmax(1))",
        "+net = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.5), nn.Linear(8, 4))",
        "+        optimizer.zero_grad()",
    ]
    assert (done.exit_code, done.refused) == (0, ())
    # What is no error stays: that dropout is active in an evaluation may be meant.
    assert "train_mode_in_eval" in [found.bug for found in done.result.findings]


def test_a_warning_is_mended_only_by_name(script: Path) -> None:
    done = fixed(script, bugs=("train_mode_in_eval",))
    assert [found.bug for found in done.mended] == ["train_mode_in_eval"]
    assert "    net.eval()\n    with torch.no_grad():" in done.source
    assert done.source.endswith("    net.train()\n")
    assert {left.why for left in done.refused} == {"it was not named in --bug"}
    assert done.exit_code == 1


def test_a_bug_without_a_patch_is_refused_in_a_sentence(script: Path) -> None:
    script.write_text(plugins.module("checks", "mixed_rows").SICK)
    done = fixed(script)
    assert done.verdict.endswith("none can be mended; nothing was changed")
    assert {left.why for left in done.refused} == {"no exact patch is known for this place"}
    assert (done.mended, done.diff, done.exit_code) == ((), "", 1)


def test_a_healthy_script_has_nothing_to_mend(script: Path) -> None:
    script.write_text(fixed(script).source)
    done = fixed(script)
    assert (done.verdict, done.exit_code) == ("no bug to mend; nothing was changed", 0)


def planted(script: Path, line: str) -> Callable[[bytes], Result]:
    """A run in which the first patch of zero_grad is replaced by a wrong one."""
    run = here(script)

    def wrong(source: bytes) -> Result:
        result = run(source)
        bad = Patch(file=str(script), edits=(Edit(line=12, new=(line,)),))
        findings = [
            f.model_copy(update={"patch": bad}) if f.bug == "zero_grad" else f for f in result.findings
        ]
        return result.model_copy(update={"findings": tuple(findings)})

    return wrong


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("        pass", "it is still there after its patch"),
        ("        1 / 0", "with its patch the script crashes: ZeroDivisionError: division by zero"),
        ("        for w in net.parameters(): w.grad, w.requires_grad = None, step < 2", "with its patch"),
    ],
)
def test_a_patch_that_proves_nothing_is_refused(script: Path, line: str, why: str) -> None:
    done = fixed(script, planted(script, line))
    (left,) = (left for left in done.refused if left.bug == "zero_grad")
    assert why in left.why
    assert line not in done.source


def test_a_file_that_is_not_the_script_is_left_alone(script: Path) -> None:
    other = script.with_name("other.py")
    other.write_text(SICK)
    run = here(script)

    def elsewhere(source: bytes) -> Result:
        result = run(source)
        patch = Patch(file=str(other), edits=(Edit(line=1, new=("pass",)),))
        return result.model_copy(
            update={"findings": tuple(f.model_copy(update={"patch": patch}) for f in result.findings)}
        )

    done = fixed(script, elsewhere)
    assert {left.why for left in done.refused} == {f"its patch belongs into another file, {other}"}


def test_writing_keeps_permissions_encoding_and_line_ends(script: Path) -> None:
    text = f"# -*- coding: latin-1 -*-\n# ä\n{SICK}".replace("\n", "\r\n")
    script.write_bytes(text.encode("latin-1"))
    script.chmod(0o750)
    before = script.read_bytes()
    done = fixed(script)
    fixing.write(script, before, fixing.encoded(done.source, before))
    after = script.read_bytes()
    assert after.startswith(b"# -*- coding: latin-1 -*-\r\n# \xe4\r\n")
    assert after.count(b"\n") == after.count(b"\r\n") == before.count(b"\n") + 1
    assert os.stat(script).st_mode & 0o777 == 0o750
    with pytest.raises(UserError, match="was changed while it ran"):
        fixing.write(script, before, after)


def test_a_link_stays_a_link(script: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to(script)
    fixing.write(link, SICK.encode(), b"pass\n")
    assert (link.is_symlink(), script.read_text()) == (True, "pass\n")


def test_a_copy_runs_as_if_it_lay_where_the_script_does(script: Path, tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("value = 3\n")
    source = (
        f"import beside, sys\nassert sys.argv == [{str(script)!r}, '7'] and __file__ == sys.argv[0]\n{SICK}"
    )
    copy, out = tmp_path / "sub.py", tmp_path / "out.json"
    copy.write_text(source)
    assert rerun.main(str(copy), str(out), "3", str(script), "7") == 0
    result = Result.model_validate_json(out.read_text())
    assert (result.crash, result.steps) == (None, 3)
    assert f"{script}:12" in [found.where for found in result.findings]


@pytest.mark.slow
def test_the_command_writes_only_if_told(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "fix", str(script)]) == 0
    assert "tried on a copy; --write changes the script" in capsys.readouterr().out
    assert script.read_text() == SICK
    assert main(["doctor", "fix", "--write", str(script)]) == 0
    assert f"written to {script}" in capsys.readouterr().out
    assert main(["doctor", "fix", str(script)]) == 0
    assert "no bug to mend" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "which script?"),
        (["nowhere.py"], "nowhere.py: no such file or directory"),
        (["--bug", "zero_gard", "--write", "x.py"], "no check 'zero_gard': did you mean 'zero_grad'?"),
    ],
)
def test_bad_words_are_named(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "fix", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_script_that_cannot_be_compiled_is_named(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script.write_text("x = (\n")
    assert main(["doctor", "fix", str(script)]) == 2
    assert f"{script}:1: syntax error" in capsys.readouterr().err
