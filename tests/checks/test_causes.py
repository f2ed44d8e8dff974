"""Bugs that show in the loss or in a step are named where they are made: a constructor, a mask, a table."""

from pathlib import Path

import pytest

from tests.checks.programs import CE, X, Y, alarms, bugs, findings, loop, marked

CHOOSING = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = nn.Linear(4, 8), nn.Linear(8, 1)
        self.attention = nn.MultiheadAttention(8, 2, batch_first=FIRST)
    def forward(self, x):
        h = self.embed(x)
        h = h + self.attention(h, h, h, need_weights=False)[0]  # here
        return self.head(h).squeeze(-1)
"""
PEAK = """
net = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
optimizer = torch.optim.Adam(net.parameters(), lr=RATE)  # here
for step in range(610):
    for group in optimizer.param_groups:
        group["lr"] = RATE * min(1, (step + 1) / 120)
    x = torch.rand(64, 3) * 2 - 1
    y = torch.stack([torch.cos(3 * x[:, 0]) * x[:, 1], torch.sin(2 * x[:, 2])], 1)
    loss = F.mse_loss(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
RECURRENT = """
from torch.utils.data import DataLoader
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.GRU(2, 8, batch_first=True), nn.Linear(8, 1)
    def forward(self, x, state):
        h, state = self.rnn(x, state)
        return self.out(h[:, -1]), state
net, state = Net(), torch.zeros(1, 8, 8)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for x in DataLoader(torch.randn(64, 5, 2), 8, shuffle=True):
    FIRST
    out, state = net(x, state)  # here
    state = state.detach()
    optimizer.zero_grad()
    (out - x.sum((1, 2))[:, None]).square().mean().backward()
    optimizer.step()
"""
LOADED = """
from torch.utils.data import DataLoader, TensorDataset
x = torch.randn(64, 8)
net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
loader = DataLoader(  # here
    TensorDataset(x), batch_size=8)
for epoch in range(4):
    for (batch,) in loader:
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()
"""
WEIGHED = """
weights = torch.tensor([0.84, 0.16])
criterion = nn.CrossEntropyLoss(weight=weights)  # here
net = nn.Linear(3, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    x = torch.randn(64, 3)
    loss = criterion(net(x), (x[:, 0] > 1.0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
DEEP = """
class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(20))  # here
        self.last = nn.Linear(8, 1)
    def forward(self, x):
        x = self.first(x)
        for layer in self.layers:
            x = torch.sigmoid(layer(x))
        return self.last(x)
"""
SUMMED = """
net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05 / 16)
criterion = nn.MSELoss(reduction="sum")  # here
for step in range(6):
    x = torch.randn(16, 8)
    loss = criterion(net(x), x[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
CLASSED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.query = nn.Embedding(9, 8, padding_idx=0), nn.Parameter(torch.randn(1, 1, 8))
        self.layer, self.out = nn.TransformerEncoderLayer(8, 2, 8, 0.0, batch_first=True), nn.Linear(8, 2)
    def forward(self, ids):
        h = torch.cat([self.query.expand(len(ids), -1, -1), self.embed(ids)], 1)
        mask = torch.cat([torch.zeros(len(ids), 1, dtype=torch.bool), HIDDEN], 1)
        h = self.layer(h, src_key_padding_mask=mask)  # here
        return self.out(h[:, 0])
"""
PLACED = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.pos = nn.Embedding(16, 8)
        self.layer, self.out = nn.TransformerEncoderLayer(8, 2, 8, 0.0, batch_first=True), nn.Linear(8, 2)
    def forward(self, x):
        h = x.flatten(2).transpose(1, 2)
        places = INDEX
        h = h + self.pos(places)  # here
        return self.out(self.layer(h).mean(1))
"""
AVERAGE = """
import copy
net = nn.Linear(8, 8)
average = copy.deepcopy(net).requires_grad_(False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(12):
    x = torch.randn(16, 8)
    x[:, 0] = 0  # a pixel that is always black: its weights never move
    optimizer.zero_grad()
    F.mse_loss(net(x), x.flip(1)).backward()
    optimizer.step()
    with torch.no_grad():
        for mean, value in zip(average.parameters(), net.parameters()):
            mean.mul_(DECAY).add_(value, alpha=1 - DECAY)  # here
with torch.no_grad():
    print(average(torch.randn(16, 8)).mean())
"""
CAUSAL = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.pos = nn.Embedding(9, 8), nn.Parameter(torch.randn(6, 8))
        self.attn, self.out = nn.MultiheadAttention(8, 2, batch_first=True), nn.Linear(8, 9)
    def forward(self, ids):
        h = self.embed(ids) + self.pos
        mask = torch.ones(6, 6, dtype=torch.bool).triu(DIAGONAL)
        h = h + self.attn(h, h, h, attn_mask=mask)[0]  # here
        return self.out(h)
"""


def causal(diagonal: int) -> str:
    ids = "ids = torch.randint(0, 9, (4, 7))"
    loss = "F.cross_entropy(net(ids[:, :-1]).flatten(0, 1), ids[:, 1:].flatten()).backward()"
    return loop(ids, loss, net="Net()", before=CAUSAL.replace("DIAGONAL", str(diagonal)))


def classed(hidden: str) -> str:
    ids = "ids = torch.randint(1, 9, (4, 6)) * (torch.arange(6) < torch.tensor([6, 3, 4, 5])[:, None])"
    loss = "F.cross_entropy(net(ids), (ids[:, 0] > 4).long()).backward()"
    return loop(ids, loss, net="Net()", before=CLASSED.replace("HIDDEN", hidden))


def choosing(batch_first: bool) -> str:
    lines = ("x = torch.randn(16, 5, 4)", "F.cross_entropy(net(x), x.square().sum(-1).argmax(1)).backward()")
    return loop(*lines, net="Net()", before=CHOOSING.replace("FIRST", str(batch_first)))


def placed(index: str) -> str:
    loss = "F.cross_entropy(net(x), (x[:, 0, 0, 0] > 0).long()).backward()"
    return loop("x = torch.randn(5, 8, 4, 4)", loss, net="Net()", before=PLACED.replace("INDEX", index))


SICK: dict[str, tuple[str, str]] = {
    "attention over the batch that scores tokens": ("mixed_rows", choosing(batch_first=False)),
    "a rate whose peak comes late": ("rate_too_high", PEAK.replace("RATE", "1.0")),
    "a state handed on between shuffled batches": ("hidden_state_kept", RECURRENT.replace("FIRST", "pass")),
    "a loader that does not shuffle": ("same_order", LOADED),
    "weights of classes in a constructor": ("inverted_class_weights", WEIGHED),
    "layers built in a class": (
        "vanishing",
        loop("net(torch.randn(8, 8)).square().mean().backward()", net="Tower()", before=DEEP),
    ),
    "a sum in a constructor": ("summed_loss", SUMMED),
    "a mask with a class token": ("inverted_mask", classed("ids != 0")),
    "places by the rows of the batch": (
        "positions_indexed",
        placed("torch.arange(len(x)).unsqueeze(1).expand(-1, 16)"),
    ),
    "an average that hardly moves": ("ema_decay", AVERAGE.replace("DECAY", "0.9999")),
    "a mask that hides too little": ("causal_leak", causal(2)),
    "a gradient that is never zeroed: a method not called": (
        "zero_grad",
        loop("optimizer.zero_grad  # here", X, Y, CE).replace("    optimizer.zero_grad()\n", ""),
    ),
}
HEALTHY = {
    "attention over the tokens that scores them": choosing(batch_first=True),
    "a warm-up to a rate that it bears": PEAK.replace("RATE", "0.003"),
    "a new state for every batch": RECURRENT.replace("FIRST", "state = torch.zeros(1, 8, 8)"),
    "a state handed on in order": RECURRENT.replace("FIRST", "pass").replace("shuffle=True", "shuffle=False"),
    "a sum whose rate was divided": SUMMED,
    "a mask of the padding with a class token": classed("ids == 0"),
    "places by the tokens": placed("torch.arange(16).expand(len(x), -1)"),
    "an average that follows": AVERAGE.replace("DECAY", "0.7"),
    "a mask that hides the future": causal(1),
}


@pytest.mark.parametrize("name", SICK)
def test_the_cause_is_named(name: str, tmp_path: Path) -> None:
    (bug, source), path = SICK[name], tmp_path / "sick.py"
    assert (bug, marked(source, path)) in bugs(source, path)


@pytest.mark.parametrize("name", HEALTHY)
def test_a_lookalike_is_left_alone(name: str, tmp_path: Path) -> None:
    checked = (bug for bug, _ in SICK.values())
    assert alarms(HEALTHY[name], tmp_path / "healthy.py", checked) == []


def test_a_step_between_a_forward_and_its_backward_pass_is_told_from_a_change_in_place(
    tmp_path: Path,
) -> None:
    source = loop(X, Y, "loss = F.cross_entropy(net(x), y)", "F.cross_entropy(net(x), y).backward()")
    source += "    loss.backward()  # here\n"
    net = "nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 3))"
    path = tmp_path / "sick.py"
    (found,) = findings(source.replace("nn.Linear(8, 3)", net), path)
    assert (found.bug, found.where) == ("inplace_saved_tensor", marked(source, path))
    step = path.read_text().splitlines().index("    optimizer.step()") + 1
    assert found.also == (f"{path}:{step}",)
    assert "run the forward pass again after the step" in found.fix
