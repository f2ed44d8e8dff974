"""Bugs whose symptom is far from their cause are named at the cause: the line or the module to change."""

from pathlib import Path

import pytest

from tests.checks.programs import X, Y, alarms, bugs, findings, loop, marked

NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(8, 16), nn.Linear(16, 3)
        INIT
    def forward(self, x):
        return self.two(ACTIVATION(self.one(x)))
"""
EPOCHS = """
data = torch.randn(64, 8)
net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
BEFORE
for epoch in range(4):
    FIRST
    for x in BATCHES:
        optimizer.zero_grad()
        net(x).square().mean().backward()
        optimizer.step()
"""
COLLECT = """
net = nn.Linear(8, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
SETUP
for step in range(12):
    x = torch.randn(16, 8)
    out = net(x)
    loss = F.cross_entropy(out, x[:, :3].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    KEEP
"""
POSITIONS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, TABLE
        self.layer, self.out = nn.TransformerEncoderLayer(8, 2, 8, 0.0, batch_first=True), nn.Linear(8, 2)
    def forward(self, ids):
        h = self.tok(ids)
        LOOKUP
        return self.out(self.layer(h).mean(1))
"""
RAGGED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru, self.out = nn.GRU(2, 8, batch_first=True), nn.Linear(8, 1)
    def forward(self, x, told):
        return self.out(self.gru(x)[0])
"""
VALIDATED = """
net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
def run(train):
    total = 0
    for step in range(6):
        loss = net(torch.randn(8, 8)).square().mean()
        if train:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        else:
            total += loss  # here
for epoch in range(3):
    net.train()
    run(True)
    net.eval()
    run(False)
"""
BY_HAND = """
torch.manual_seed(0)
w, v = torch.randn(8, 4, requires_grad=True), torch.randn(4, 1, requires_grad=True)
for step in range(20):
    x = torch.randn(16, 8)
    loss = (x @ w @ v - x[:, :1]).square().mean()
    steps = torch.autograd.grad(loss, (w, v))  # here
    with torch.no_grad():
        w -= RATE * steps[0]
        v -= RATE * steps[1]
"""
GAN = """
made, judge = nn.Linear(2, 2), nn.Linear(2, 1)
one = torch.optim.SGD(made.parameters(), lr=0.01)
two = torch.optim.SGD(judge.parameters(), lr=0.01)
for step in range(6):
    fake = made(torch.randn(8, 2)).detach()
    two.zero_grad()
    judge(fake).mean().backward()
    two.step()
    one.zero_grad()
    (-judge(fake).mean()).backward()  # here
    one.step()
"""


def net(init: str, activation: str = "torch.relu") -> str:
    before = NET.replace("INIT", init).replace("ACTIVATION", activation)
    return loop(X, Y, "F.cross_entropy(net(x), y).backward()", net="Net()", before=before)


def epochs(first: str, batches: str = "data[torch.randperm(64)].split(8)", before: str = "") -> str:
    return EPOCHS.replace("FIRST", first).replace("BATCHES", batches).replace("BEFORE", before)


def collect(setup: str, keep: str) -> str:
    return COLLECT.replace("SETUP", setup).replace("KEEP", keep)


def ragged(*batch: str) -> str:
    rows = (
        "n = torch.randint(2, 8, (8,)); n[0] = 7",
        "m = torch.arange(7) < n[:, None]",
        "x = torch.rand(8, 7, 2) * m[..., None]",
        "y = (x.cumsum(1).sum(2) + 1) * m",
    )
    return loop(*rows, *batch, net="Net()", before=RAGGED)


SICK: dict[str, tuple[str, str]] = {
    "large weights before a tanh": (
        "saturated",
        net("nn.init.normal_(self.one.weight, std=40.0)  # here", "torch.tanh"),
    ),
    "weights multiplied before a sigmoid": (
        "saturated",
        net("self.one.weight.data.mul_(200)  # here", "torch.sigmoid"),
    ),
    "a negative bias": ("dead_relu", net("self.one.bias.data.fill_(-30.0)  # here")),
    "a negative bias by init": ("dead_relu", net("nn.init.constant_(self.one.bias, -30.0)  # here")),
    "constant weights, in a loop": (
        "symmetric_init",
        net("for p in self.parameters(): p.data.fill_(0.1)  # here", "torch.tanh"),
    ),
    "a seed in the epoch": ("same_order", epochs("torch.manual_seed(0)  # here")),
    "a generator in the epoch": (
        "same_order",
        epochs(
            "g = torch.Generator().manual_seed(3)  # here", "data[torch.randperm(64, generator=g)].split(8)"
        ),
    ),
    "a function that seeds, called in the epoch": (
        "same_order",
        epochs("fix_seed()  # here", before="def fix_seed():\n    torch.manual_seed(0)"),
    ),
    "outputs in a list": ("kept_graph", collect("kept = []", "kept.append(out)  # here")),
    "outputs in a dictionary": (
        "kept_graph",
        collect("log = {'out': []}", "log['out'].append(out.softmax(1))  # here"),
    ),
    "outputs joined": (
        "kept_graph",
        collect("every = torch.empty(0, 3)", "every = torch.cat([every, out])  # here"),
    ),
    "validation losses added beside numbers": (
        "evaluation_keeps_graph",
        VALIDATED,
    ),
    "a share above a threshold as a penalty": (
        "term_without_gradient",
        loop(
            X,
            Y,
            "h = net(x)",
            "used = (h.abs() > 1e9).float().mean()  # here",
            "(F.cross_entropy(h, y) + 0.1 * used).backward()",
        ),
    ),
    "a count divided": (
        "term_without_gradient",
        loop(
            X,
            Y,
            "n = (net.weight.abs() > 1e-9).sum() / net.weight.numel()  # here",
            "loss = F.cross_entropy(net(x), y)",
            "loss = loss + n",
            "loss.backward()",
        ),
    ),
    "the largest over the rows of a square": (
        "wrong_axis",
        loop(
            "x = torch.randn(16, 3)",
            "F.cross_entropy(net(x), x.argmax(1)).backward()",
            "guess = net(x[:3]).argmax(0)  # here",
            net="nn.Linear(3, 3)",
        ),
    ),
    "mean over padding, lengths given": (
        "padding_in_loss",
        ragged("F.mse_loss(net(x, n)[..., 0], y).backward()  # here"),
    ),
    "mean over padding, mask given": (
        "padding_in_loss",
        ragged("F.l1_loss(net(x, m)[..., 0], y).backward()  # here"),
    ),
    "tokens of unequal micro-batches": (
        "accumulation_unequal",
        loop(
            "for part in range(2):",
            "    n = 6 if part else 1",
            "    ids = torch.randint(1, 9, (4, 6)) * (torch.arange(6) < n)",
            "    scores = net(ids).transpose(1, 2)",
            "    (F.cross_entropy(scores, ids, ignore_index=0) / 2).backward()  # here",
            net="nn.Sequential(nn.Embedding(9, 8), nn.Linear(8, 9))",
        ),
    ),
    "weights moved by hand, too far": ("rate_too_high", BY_HAND.replace("RATE", "0.3")),
    "fakes that are cut off their generator": (
        "detached_loss",
        GAN,
    ),
}
HEALTHY = {
    "weights moved by hand": BY_HAND.replace("RATE", "0.001"),
    "a seed before the epochs": epochs("pass", before="torch.manual_seed(0)"),
    "outputs detached": collect("kept = []", "kept.append(out.detach())"),
    "a few outputs of one step": collect("kept = []", "kept = [out, out.softmax(1)]"),
    "outputs let go": collect("kept = []", "kept.append(out); kept = kept[-1:]"),
    "a share that is only told": loop(
        X, Y, "h = net(x)", "used = (h > 0).float().mean()", "F.cross_entropy(h, y).backward()", "print(used)"
    ),
    "a mask that multiplies": loop(
        X, Y, "h = net(x)", "m = (h > 0).float()", "(F.cross_entropy(h, y) + (h * m).mean()).backward()"
    ),
    "scores of pairs, both ways": loop(
        "x = torch.randn(6, 8)",
        "s = net(x) @ net(x).T",
        "F.cross_entropy(s, torch.arange(6)).backward()",
        "s.argmax(0), s.argmax(1)",
    ),
    "a square turned": loop(
        "x = torch.randn(16, 3)",
        "F.cross_entropy(net(x), x.argmax(1)).backward()",
        "net(x[:3]).T.argmax(0)",
        net="nn.Linear(3, 3)",
    ),
    "padding masked on both sides": ragged("F.mse_loss(net(x, n)[..., 0] * m, y).backward()"),
    "padding weighed away": ragged(
        "e = F.mse_loss(net(x, n)[..., 0], y, reduction='none')", "((e * m).sum() / m.sum()).backward()"
    ),
    "signals that end in blanks": loop(
        "x = torch.rand(8, 7, 2) * (torch.arange(7) < torch.randint(3, 8, (8, 1)))[..., None]",
        "F.mse_loss(net(x), x).backward()",
        net="nn.Sequential(nn.Linear(2, 4), nn.Linear(4, 2))",
    ),
    "nearly as many tokens": loop(
        "for part in range(2):",
        "    ids = torch.randint(1, 9, (4, 6)) * (torch.arange(6) < 6 - part)",
        "    scores = net(ids).transpose(1, 2)",
        "    (F.cross_entropy(scores, ids, ignore_index=0) / 2).backward()",
        net="nn.Sequential(nn.Embedding(9, 8), nn.Linear(8, 9))",
    ),
}


@pytest.mark.parametrize("name", SICK)
def test_the_cause_is_named(name: str, tmp_path: Path) -> None:
    (bug, source), path = SICK[name], tmp_path / "sick.py"
    assert (bug, marked(source, path)) in bugs(source, path)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_lookalike_is_left_alone(name: str, tmp_path: Path) -> None:
    checked = (bug for bug, _ in SICK.values())
    assert alarms(HEALTHY[name], tmp_path / "healthy.py", checked) == []


def test_units_and_positions_name_their_module(tmp_path: Path) -> None:
    found = findings(net("self.one.bias.data.fill_(-30.0)"), tmp_path / "dead.py")
    assert [f.module for f in found if f.bug == "dead_relu"] == ["one"]
    before = POSITIONS.replace("TABLE", "self.pos = nn.Embedding(9, 8), nn.Embedding(6, 8)")
    before = before.replace("LOOKUP", "place = self.pos(torch.arange(ids.shape[1]))")
    ids = (
        "ids = torch.randint(0, 9, (8, 6))",
        "F.cross_entropy(net(ids), (ids[:, 0] > 4).long()).backward()",
    )
    found = findings(loop(*ids, net="Net()", before=before), tmp_path / "positions.py")
    assert [f.module for f in found if f.bug == "positions_ignored"] == ["pos"]
    assert "detached_loss" not in [f.bug for f in found]
