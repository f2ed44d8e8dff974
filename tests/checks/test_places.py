"""From the line where a bug shows to the line that a person would change: `# at` leads to `# here`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from vitruvius.checks import OptimiserBuilt, SchedulerStep, Step, Trace
from vitruvius.checks._places import (
    argument_line,
    criterion_line,
    cut_line,
    divides_rate,
    frozen_line,
    loss_line,
    masking_line,
    rate_line,
    skipped_step,
    training_line,
    uncalled,
)


def marked(text: str, mark: str) -> int:
    """The line with a mark, 0 if there is none."""
    return next((number for number, line in enumerate(text.splitlines(), 1) if mark in line), 0)


def place(text: str, path: Path, find: Callable[[str], str]) -> tuple[str, str]:
    """Where a function leads from the marked line, and where it should."""
    path.write_text(text)
    wanted = marked(text, "# here")
    return find(f"{path}:{marked(text, '# at')}"), f"{path}:{wanted}" if wanted else ""


SUMMED = """
class Trainer:
    def __init__(self):
        self.criterion = nn.MSELoss(
            reduction="sum",  # here
        )
    def step(self, x, y):
        loss = self.criterion(self.net(x), y)  # at
        loss.backward()
"""
CUT = """
class Net(nn.Module):
    def forward(self, x):
        h = self.features(x)
        h = h.detach()  # here
        return self.head(h)
"""
UNDER = """
class Net(nn.Module):
    def forward(self, x):
        with torch.no_grad():  # here
            h = self.features(x)
        return self.head(h)
"""
MASK = """
def forward(self, x):
    a = a.masked_fill(m, low)  # here
    a = a.softmax(-1)
    return self.out(a @ v)  # at
"""
LINES: dict[str, tuple[Callable[[str], str], str]] = {
    "the sum in a constructor": (lambda at: criterion_line(at, "reduction"), SUMMED),
    "weights by position": (
        lambda at: criterion_line(at, "weight"),
        "loss_fn = nn.CrossEntropyLoss(counts / counts.sum())  # here\nloss = loss_fn(net(x), y)  # at\n",
    ),
    "weights in the call": (
        lambda at: criterion_line(at, "weight"),
        "loss = F.cross_entropy(net(x), y, weight=w)  # at # here\n",
    ),
    "the only loss with weights, built in a function": (
        lambda at: criterion_line(at, "weight"),
        "def make(w):\n    return nn.NLLLoss(weight=w)  # here\nf = make(w)\nloss = f(net(x), y)  # at\n",
    ),
    "no such argument": (
        lambda at: criterion_line(at, "weight"),
        "loss_fn = nn.MSELoss()\nloss = loss_fn(net(x), y)  # at # here\n",
    ),
    "a rate on its own line": (
        lambda at: argument_line(at, "lr"),
        "optimizer = torch.optim.Adam(  # at\n    net.parameters(),\n    lr=0.5,  # here\n)\n",
    ),
    "a loss assigned before": (loss_line, "loss = f(net(x), y).sum()  # here\nloss.backward()  # at\n"),
    "a loss divided": (loss_line, "loss = f(x)  # here\n(loss / k).backward()  # at\n"),
    "a loss scaled": (
        loss_line,
        "scaler = GradScaler()\nloss = f(x)  # here\nscaler.scale(loss).backward()  # at\n",
    ),
    "a loss in the line itself": (loss_line, "net(x).sum().backward()  # at # here\n"),
    "a module cut off later": (lambda at: cut_line(at, "net.features"), "# at\n" + CUT),
    "a module under no_grad": (lambda at: cut_line(at, "features"), "# at\n" + UNDER),
    "a module that is not cut": (
        lambda at: cut_line(at, "features"),
        "# at\n" + UNDER.replace("torch.no_grad():  # here", "context():"),
    ),
    "a method that is not called": (
        lambda at: uncalled(at, "zero_grad"),
        "self.optimizer.zero_grad  # here\nloss.backward()\nself.optimizer.step()  # at\n",
    ),
    "a method that is called": (
        lambda at: uncalled(at, "zero_grad"),
        "optimizer.zero_grad()\noptimizer.step()  # at\n",
    ),
    "the last train() of the function": (
        training_line,
        "net.train()\ndef fit(net):\n    net.train()  # here\n    for x in data:\n        net(x)  # at\n",
    ),
    "a train() of another function": (
        training_line,
        "def warm(net):\n    net.train()\ndef fit(net):\n    net(x)  # at\n",
    ),
    "weights frozen one by one": (
        frozen_line,
        "net(x)  # at\nfor p in net.parameters():\n    p.requires_grad = False  # here\n",
    ),
    "weights thawed": (frozen_line, "net(x)  # at\nnet.requires_grad_(True)\np.requires_grad = True\n"),
    "a mask in the function": (masking_line, MASK),
    "attention without a mask": (
        masking_line,
        MASK.replace("    a = a.masked_fill(m, low)  # here\n", "").replace("(-1)", "(-1)  # here"),
    ),
}


@pytest.mark.parametrize("name", LINES)
def test_the_line_to_change_is_found(name: str, tmp_path: Path) -> None:
    find, text = LINES[name]
    found, wanted = place(text, tmp_path / "script.py", find)
    assert found == wanted


def test_a_condition_around_the_step_is_blamed(tmp_path: Path) -> None:
    text = "optimizer = Adam(p)\nfor i in data:\n    loss.backward()  # at\n    if i == n:  # here\n"
    text += "        optimizer.step()\n"
    built = f"{tmp_path / 'script.py'}:1"
    found, wanted = place(text, tmp_path / "script.py", lambda at: skipped_step(at, built))
    assert found == wanted
    other = text.replace("optimizer.step", "scheduler.step").replace("  # here", "")
    built = f"{tmp_path / 'other.py'}:1"
    assert place(other, tmp_path / "other.py", lambda at: skipped_step(at, built)) == ("", "")


@pytest.mark.parametrize(
    ("text", "divided"),
    [
        ("o = SGD(p, lr=0.05 / 50)  # at\n", True),
        ("B = 50\no = SGD(p, lr=0.05 / B)  # at\n", True),
        ("rate = 0.05 / batch_size\no = SGD(p, lr=rate)  # at\n", True),
        ("o = SGD(p, lr=0.05)  # at\n", False),
        ("B = 10\no = SGD(p, lr=0.05 / B)  # at\n", False),
    ],
)
def test_a_rate_that_was_divided_by_the_rows_is_known(text: str, divided: bool, tmp_path: Path) -> None:
    path = tmp_path / "script.py"
    path.write_text(text)
    assert divides_rate(f"{path}:{marked(text, '# at')}", 50) is divided


FACTS = {
    "optimiser": 1,
    "name": "SGD",
    "momentum": False,
    "decayed": (),
    "added_decay": 0.0,
    "parameters": (),
}


@pytest.mark.parametrize(("rate", "line"), [(0.1, "built.py:1"), (3.0, "schedule.py:2")])
def test_a_rate_is_blamed_on_who_has_set_it(rate: float, line: str) -> None:
    built = OptimiserBuilt(step=0, where="built.py:1", lr=0.1, **FACTS)  # type: ignore[arg-type]
    step = Step(step=0, where="loop.py:9", lr=rate, **FACTS)  # type: ignore[arg-type]
    move = SchedulerStep(
        step=1,
        where="loop.py:10",
        optimiser=1,
        lr=rate,
        optimiser_steps=1,
        name="OneCycleLR",
        built="schedule.py:2",
        length=None,
        initial=0.1,
    )
    assert rate_line(Trace(events=[built, step, move]), step) == line
    assert rate_line(Trace(events=[step]), step) == "loop.py:9"
