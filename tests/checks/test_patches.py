"""Laws over all patches: they make a sick program healthy; where the source leaves a doubt there is none."""

import warnings
from pathlib import Path

import pytest
import torch

from vitruvius.checks import Finding, _activations, _patches, _source
from vitruvius.core import plugins
from vitruvius.core.patch import Edit, NoMatch, Patch, applied
from vitruvius.doctor import diagnose
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.watcher import Watcher

PATCHED = (
    *("backward_without_step", "double_softmax", "dropout_in_eval", "eval_mode_in_train", "nll_without_log"),
    *("optimiser_recreated", "scheduler_order", "step_without_backward", "train_mode_in_eval", "zero_grad"),
    "zeroed_before_step",
)
"""Checks whose own sick program can be mended; `target_shape` and `missing_parameters` mend others."""
HEAD = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
LOOP = """optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    x = torch.randn(8, 3)
    optimizer.zero_grad()
    loss = {}
    loss.backward()
    optimizer.step()
"""
LISTED = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = [nn.Linear(3, 4), nn.Linear(4, 4)]
        self.head = nn.Linear(4, 4)
    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return self.head(x)
net = Net()
"""
RETURNING = """class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(3, 4)
        self.act = nn.Softmax(dim=1)
    def forward(self, x):
        return {}
net = Net()
"""


def findings(source: str, path: Path) -> tuple[Finding, ...]:
    """What all checks find in a program."""
    path.write_text(source)
    watcher = Watcher()
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings(), installed(watcher):
        warnings.simplefilter("ignore")  # of shapes that broadcast
        torch.manual_seed(1)
        exec(compile(source, str(path), "exec"), {"__name__": "__main__"})
    with torch.random.fork_rng(devices=[]):
        return diagnose.examine(watcher.finish()).findings


def patch_of(bug: str, source: str, path: Path) -> Patch | None:
    (found,) = (finding for finding in findings(source, path) if finding.bug == bug)
    return found.patch


def mended(bug: str, source: str, folder: Path) -> str:
    """The program after the patch of a bug; every loud finding must be gone then."""
    patch = patch_of(bug, source, folder / "sick.py")
    assert patch is not None
    after = applied(source, patch.edits)
    left = [found for found in findings(after, folder / "mended.py") if found.severity != "info"]
    assert [(found.bug, found.evidence) for found in left] == []
    return after


@pytest.mark.parametrize("name", PATCHED)
def test_a_patch_makes_the_sick_program_healthy(name: str, tmp_path: Path) -> None:
    mended(name, plugins.module("checks", name).SICK, tmp_path)


CE = "F.cross_entropy({}, x.argmax(1))"
LINEAR = "net = nn.Linear(3, 4)\n"


@pytest.mark.parametrize(
    ("bug", "before", "after"),
    [
        ("double_softmax", LINEAR + LOOP.format(CE.format("net(x).softmax(1)")), CE.format("net(x)")),
        ("double_softmax", LINEAR + LOOP.format(CE.format("F.softmax(net(x), dim=1)")), CE.format("net(x)")),
        ("double_softmax", LINEAR + LOOP.format(CE.format("nn.Softmax(dim=1)(net(x))")), CE.format("net(x)")),
        (
            "double_softmax",
            RETURNING.format("self.act(self.head(x))") + LOOP.format(CE.format("net(x)")),
            "return self.head(x)",
        ),
        (
            "double_softmax",
            RETURNING.format("torch.softmax(self.head(x), -1)") + LOOP.format(CE.format("net(x)")),
            "return self.head(x)",
        ),
        (
            "double_softmax",
            "net = nn.Sequential(\n    nn.Linear(3, 4),\n    nn.Softmax(dim=1),\n)\n"
            + LOOP.format(CE.format("net(x)")),
            "    nn.Linear(3, 4),\n)",
        ),
        (
            "double_softmax",
            LINEAR
            + LOOP.format(CE.format("p")).replace(
                "    loss =", "    z = net(x)\n    p = z.softmax(1)\n    loss ="
            ),
            CE.format("z"),
        ),
        (
            "double_softmax",
            "net = nn.Linear(3, 1)\n"
            + LOOP.format("F.binary_cross_entropy_with_logits(net(x).sigmoid(), (x[:, :1] > 0).float())"),
            "with_logits(net(x), (x",
        ),
        (
            "nll_without_log",
            LINEAR + "criterion = nn.NLLLoss()\n" + LOOP.format("criterion(net(x), x.argmax(1))"),
            "nn.CrossEntropyLoss()",
        ),
        (
            "nll_without_log",
            LINEAR + LOOP.format("F.nll_loss(F.softmax(net(x), 1), x.argmax(1))"),
            "F.nll_loss(F.log_softmax(net(x), 1), x.argmax(1))",
        ),
        (
            "target_shape",
            "net = nn.Linear(3, 1)\n" + LOOP.format("F.mse_loss(net(x), x.sum(1))"),
            "F.mse_loss(net(x), x.sum(1).unsqueeze(-1))",
        ),
        (
            "target_shape",
            "net = nn.Linear(3, 1)\ncriterion = nn.MSELoss()\n"
            + LOOP.format("criterion(net(x).squeeze(1), x[:, :1] + 1)"),
            "(x[:, :1] + 1).squeeze(-1)",
        ),
        ("missing_parameters", LISTED + LOOP.format(CE.format("net(x)")), "nn.ModuleList([nn.Linear(3, 4)"),
        (
            "zeroed_before_step",
            "net = nn.Linear(3, 1)\n"
            + LOOP.format("net(x).square().mean()").replace(
                "    loss.back", "    optimizer.step()\n    loss.back"
            )[:-21],
            "    loss.backward()\n    optimizer.step()\n",
        ),
    ],
)
def test_an_edit_is_what_a_reader_would_do(bug: str, before: str, after: str, tmp_path: Path) -> None:
    assert after not in before
    assert after in mended(bug, HEAD + before, tmp_path)


MICRO = (
    HEAD
    + """net = nn.Linear(3, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(12):
    optimizer.zero_grad()
    (net(torch.randn(8, 3)).square().mean() / 3).backward()
    if step % 3 == 2:
        optimizer.step()
"""
)


def test_zeroing_in_every_micro_batch_moves_behind_the_step(tmp_path: Path) -> None:
    after = mended("zeroed_before_step", MICRO, tmp_path)
    assert after.endswith("    if step % 3 == 2:\n        optimizer.step()\n        optimizer.zero_grad()\n")
    assert after.count("zero_grad") == 1


ZERO = plugins.module("checks", "zero_grad").SICK
SOFT = LINEAR + LOOP.format(CE.format("net(x)"))


@pytest.mark.parametrize(
    ("bug", "source"),
    [
        ("zero_grad", ZERO.replace("    optimizer.step()", "    if True: optimizer.step()")),
        ("zero_grad", ZERO.replace("    optimizer.step()", "    pass; optimizer.step()")),
        ("zero_grad", ZERO.replace("    optimizer.step()", "    done = optimizer.step()")),
        (
            "double_softmax",  # two places could be meant
            HEAD
            + RETURNING.format("self.act(self.head(x))")
            + "other = nn.Sequential(nn.Linear(1, 1), nn.Softmax(1))\n"
            + LOOP.format(CE.format("net(x)")),
        ),
        (
            "double_softmax",  # the probabilities are used elsewhere
            HEAD
            + LINEAR
            + LOOP.format(CE.format("p")).replace(
                "    loss =", "    p = net(x).softmax(1)\n    q = p\n    loss ="
            ),
        ),
        (
            "missing_parameters",
            HEAD
            + LISTED.replace("[nn.Linear(3, 4), nn.Linear(4, 4)]", "list((nn.Linear(3, 4), nn.Linear(4, 4)))")
            + LOOP.format(CE.format("net(x)")),
        ),
        (
            "optimiser_recreated",
            plugins.module("checks", "optimiser_recreated").SICK.replace("lr=0.01", "lr=0.01 / (epoch + 1)"),
        ),
        (
            "dropout_in_eval",
            plugins.module("checks", "dropout_in_eval").SICK.replace(
                "0.5)  # here", "0.5, training=True)  # here"
            ),
        ),
    ],
)
def test_where_the_source_leaves_a_doubt_there_is_no_patch(bug: str, source: str, tmp_path: Path) -> None:
    assert patch_of(bug, source, tmp_path / "a.py") is None


def test_no_source_means_no_patch(tmp_path: Path) -> None:
    for where in ("", "<string>:3", f"{tmp_path / 'gone.py'}:1", f"{__file__}:100000"):
        assert _patches.zero_after_step(where) is None
        assert _activations.without_activation(where, "softmax") is None
        assert _patches.evaluated(where) is None
    (tmp_path / "broken.py").write_text("x = (\n")
    assert not _source.read(f"{tmp_path / 'broken.py'}:1").lines


def test_a_patch_is_shown_at_the_guilty_line(tmp_path: Path) -> None:
    (found,) = (f for f in findings(ZERO, tmp_path / "a.py") if f.bug == "zero_grad")
    number = int(found.where.rpartition(":")[2])
    assert found.change().splitlines() == [
        f"  > {number:>4} |     (net(x) - x.sum(1, keepdim=True)).square().mean().backward()  # here",
        f"    {number + 1:>4} |     optimizer.step()",
        "  +      |     optimizer.zero_grad()",
    ]


def test_edits_keep_line_ends_and_refuse_another_text() -> None:
    edits = (Edit(line=1, old=("a",), new=("b", "c")), Edit(line=3, new=("d",)))
    assert applied("a\r\nx\r\n", edits) == "b\r\nc\r\nx\r\nd\r\n"
    assert applied("a\nx", edits) == "b\nc\nx\nd\n"
    for text in ("y\nx\n", ""):
        with pytest.raises(NoMatch):
            applied(text, edits)
    with pytest.raises(NoMatch):  # they overlap
        applied("a\nx\n", (Edit(line=1, old=("a", "x"), new=()), Edit(line=2, old=("x",), new=("y",))))
