"""Odd but correct programs stay silent; bugs in other forms than the SICK texts are found at their line."""

import gc
from pathlib import Path

import pytest
import torch

from vitruvius import checks
from vitruvius.doctor import diagnose
from vitruvius.doctor.hooks import installed
from vitruvius.doctor.watcher import Watcher

TOOLS = "import copy, torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
SETUP = """
x = torch.randn(300, 8)
y = x[:, :3].argmax(1)
net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
def train(rows):
    net.train()
    for i in rows[torch.randperm(len(rows))].split(30):
        optimizer.zero_grad()
        F.cross_entropy(net(x[i]), y[i]).backward()
        optimizer.step()
"""
MODULE = """
class Net(nn.Module):
    def __init__(net):
        super().__init__()
        net.first, net.last = nn.Linear(8, 16), nn.Linear(16, 3)
    def forward(net, x):
        return net.last(DROPOUT)
"""

SILENT = {
    "an input differentiated for": """
t = torch.linspace(0, 1, 20).unsqueeze(1).requires_grad_(True)
net = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(30):
    u = net(t - 0.5)
    slope = torch.autograd.grad(u.sum(), t, create_graph=True)[0]
    optimizer.zero_grad()
    (slope + u).square().mean().backward()
    optimizer.step()
""",
    "a teacher in eval mode, without no_grad": """
teacher, student = nn.Linear(8, 4).eval(), nn.Linear(8, 4)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
for step in range(30):
    x = torch.randn(16, 8)
    optimizer.zero_grad()
    F.mse_loss(student(x), teacher(x)).backward()
    optimizer.step()
""",
    "folds of one network that is reset": SETUP
    + """
start, parts = copy.deepcopy(net.state_dict()), torch.randperm(300).chunk(5)
for fold in range(5):
    net.load_state_dict(start)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    train(torch.cat([part for other, part in enumerate(parts) if other != fold]))
    net.eval()
    with torch.no_grad():
        test = net(x[parts[fold]])
""",
    "mixup, with two sets of labels for one pass": SETUP
    + """
for epoch in range(8):
    for i in torch.randperm(300).split(30):
        j = i[torch.randperm(30)]
        scores = net(0.7 * x[i] + 0.3 * x[j])
        optimizer.zero_grad()
        (0.7 * F.cross_entropy(scores, y[i]) + 0.3 * F.cross_entropy(scores, y[j])).backward()
        optimizer.step()
""",
    "labels that number the rows": """
net = nn.Linear(8, 4)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
x = torch.randn(96, 8)
for epoch in range(4):
    for i in torch.randperm(96).split(16):
        near = x[i] + 0.1 * torch.randn(16, 8)
        optimizer.zero_grad()
        F.cross_entropy(net(near) @ net(x[i]).T, torch.arange(16)).backward()
        optimizer.step()
""",
    "a saliency after training": SETUP
    + """
for epoch in range(3):
    train(torch.arange(300))
net.eval()
probe = torch.randn(50, 8, requires_grad=True)
net(probe).amax(1).sum().backward()
""",
    "dropout layers switched on for samples": MODULE.replace("DROPOUT", "net.drop(net.first(x).relu())")
    + SETUP.replace(
        "nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))", "Net()"
    ).replace("optimizer =", "net.drop = nn.Dropout(0.2)\noptimizer =", 1)
    + """
train(torch.arange(300))
net.eval()
net.drop.train()
with torch.no_grad():
    samples = torch.stack([net(torch.randn(20, 8)) for _ in range(5)])
""",
    "pseudo-labels in every step": SETUP
    + """
for step in range(30):
    unseen, i = torch.randn(20, 8), torch.randint(0, 300, (30,))
    with torch.no_grad():
        guess = net(unseen).softmax(1)
    optimizer.zero_grad()
    (F.cross_entropy(net(x[i]), y[i]) + 0.1 * F.cross_entropy(net(unseen + 0.1), guess)).backward()
    optimizer.step()
""".replace("unseen", "more"),
    "training accuracy, and said so": SETUP
    + """
def evaluate():
    net.eval()
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean()
for epoch in range(4):
    train(torch.arange(300))
print("training accuracy", evaluate())
""",
    "branches that begin with a tiny gain": """
class Branch(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.linear = nn.LayerNorm(8), nn.Linear(8, 8)
        self.gain = nn.Parameter(torch.full((8,), 1e-6))
    def forward(self, x):
        return x + self.gain * self.linear(self.norm(x))
net = nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8), *[Branch() for _ in range(12)], nn.Linear(8, 3))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(30):
    x = torch.randn(32, 8)
    optimizer.zero_grad()
    F.cross_entropy(net(x), x[:, :3].argmax(1)).backward()
    optimizer.step()
""",
    "a sum divided in the gradients": """
net = nn.Linear(8, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(30):
    x = torch.randn(32, 8)
    optimizer.zero_grad()
    F.cross_entropy(net(x), x[:, :3].argmax(1), reduction="sum").backward()
    for parameter in net.parameters():
        parameter.grad /= 32
    optimizer.step()
""",
}

LOUD = {
    "rate_too_high": SETUP.replace("lr=1e-2)", "lr=0.8)  # here").replace(
        "nn.Dropout(0.1)", "nn.Linear(16, 16), nn.ReLU()"
    )
    + "for epoch in range(8):\n    train(torch.arange(300))\n",
    "exploding": """
net = nn.Sequential(  # here
    *[part for _ in range(60) for part in (nn.Linear(16, 16, bias=False), nn.BatchNorm1d(16), nn.ReLU())],
    nn.Linear(16, 3),
)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(10):
    x = torch.randn(64, 16)
    optimizer.zero_grad()
    F.cross_entropy(net(x), x[:, :3].argmax(1)).backward()
    optimizer.step()
""",
    "train_mode_in_eval": SETUP
    + """
for epoch in range(6):
    train(torch.arange(200))
    with torch.no_grad():
        loss = F.cross_entropy(net(x[200:]), y[200:])  # here
""",
    "eval_mode_in_train": MODULE.replace("DROPOUT", "F.dropout(net.first(x), 0.5, net.training)")
    + """
net = Net().eval()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(20):
    x = torch.randn(32, 8)
    loss = F.cross_entropy(net(x), x[:, :3].argmax(1))  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "dropout_in_eval": MODULE.replace("net.last(DROPOUT)", "net.last(nn.Dropout(0.5)(net.first(x)))  # here")
    + SETUP.replace("nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))", "Net()")
    + """
train(torch.arange(300))
net.eval()
with torch.no_grad():
    print(net(torch.randn(20, 8)).mean())
""",
    "replaced_parameters": SETUP.replace("lr=1e-2)", "lr=1e-2)  # here")
    + """
for epoch in range(5):
    train(torch.arange(300))
net[3] = nn.Linear(16, 5)
x = torch.randn(300, 8)
for epoch in range(5):
    train(torch.arange(300))
""",
    "zeroed_before_step": """
net = nn.Linear(8, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for step in range(10):
    x = torch.randn(32, 8)
    F.mse_loss(net(x), x[:, :1]).backward()
    for parameter in net.parameters():
        parameter.grad = None
    optimizer.step()  # here
""",
    "summed_loss": """
net = nn.Linear(8, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-3)
for step in range(10):
    x = torch.randn(32, 8)
    loss = -net(x).log_softmax(1).gather(1, x[:, :3].argmax(1, keepdim=True)).sum()  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
""",
    "test_on_train": SETUP
    + """
@torch.no_grad()
def accuracy(x, y):
    net.eval()
    return (net(x).argmax(1) == y).float().mean()  # here
for epoch in range(4):
    train(torch.arange(300))
print("test accuracy", accuracy(x[200:], y[200:]))
""",
}


def loud(source: str, path: Path) -> list[tuple[str, str]]:
    """What is said about a program, notes left out."""
    path.write_text(TOOLS + source)
    with torch.random.fork_rng(devices=[]), diagnose.watch() as report:
        torch.manual_seed(1)
        exec(compile(TOOLS + source, str(path), "exec"), {"__name__": "__main__"})
        gc.collect()  # as may happen at any time: the program's optimiser is gone, its network is held
    assert report.result.skipped == ()
    return [(found.bug, found.where) for found in report.findings if found.severity != "info"]


@pytest.mark.parametrize("name", SILENT)
def test_correct_code_that_looks_suspicious_stays_silent(name: str, tmp_path: Path) -> None:
    assert loud(SILENT[name], tmp_path / "odd.py") == []


@pytest.mark.parametrize("bug", LOUD)
def test_a_bug_in_another_form_is_found_at_its_line(bug: str, tmp_path: Path) -> None:
    lines = (TOOLS + LOUD[bug]).splitlines()
    line = next(number for number, text in enumerate(lines, 1) if "# here" in text)
    assert loud(LOUD[bug], tmp_path / "sick.py") == [(bug, f"{tmp_path / 'sick.py'}:{line}")]


def test_steps_are_told_from_backward_passes_that_never_come() -> None:
    watcher = Watcher()
    with installed(watcher):
        net = torch.nn.Linear(2, 1)
        optimizer = torch.optim.Adam(net.parameters())
        for _ in range(4):
            optimizer.zero_grad()
            net(torch.ones(3, 2)).mean().backward  # noqa: B018
            optimizer.step()
    assert [found.severity for found in checks.get("step_without_backward")(watcher.finish())] == ["error"]
