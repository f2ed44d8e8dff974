"""Programs as people write them: bugs that hid in other styles are named, true programs are not accused."""

from pathlib import Path

import pytest
import torch

from vitruvius.checks import Finding
from vitruvius.doctor import diagnose

TOOLS = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
GPT = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.places = nn.Embedding(9, 8), nn.Parameter(torch.randn(6, 8))
        self.layer, self.head = nn.TransformerEncoderLayer(8, 2, 8, 0.0, batch_first=True), nn.Linear(8, 9)
    def forward(self, ids, labels=None):
        mask = nn.Transformer.generate_square_subsequent_mask(6)
        hidden = self.layer(self.embed(ids) + self.places, MASK)
        scores = self.head(hidden)
        return RETURN
net = Model()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    text = torch.randint(0, 9, (4, 7))
    optimizer.zero_grad()
    CALL.backward()  # here
    optimizer.step()
"""
LOSS = "F.cross_entropy(scores.flatten(0, 1), labels.flatten())"
STYLES = {
    "loss inside forward": (f"{LOSS}, scores", "net(text[:, :-1], text[:, 1:])[0]"),
    "keyword inputs": (
        f"{{'loss': {LOSS}, 'scores': scores}}",
        "net(labels=text[:, 1:], ids=text[:, :-1])['loss']",
    ),
    "flattened scores": ("scores.flatten(0, 1)", "F.cross_entropy(net(text[:, :-1]), text[:, 1:].flatten())"),
}
TIME_FIRST = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.layer = nn.Embedding(9, 8), nn.TransformerEncoderLayer(8, 2, 8, 0.0)
        self.places, self.head = nn.Parameter(torch.randn(6, 1, 8)), nn.Linear(8, 9)
    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(6)
        return self.head(self.layer(self.embed(ids) + self.places, MASK)).flatten(0, 1)
net = Model()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step in range(6):
    text = torch.randint(0, 9, (7, 4))
    optimizer.zero_grad()
    F.cross_entropy(net(text[:-1]), text[1:].flatten()).backward()  # here
    optimizer.step()
"""


def findings(source: str, path: Path) -> list[Finding]:
    path.write_text(TOOLS + source)
    with torch.random.fork_rng(devices=[]), diagnose.watch() as report:
        torch.manual_seed(1)
        exec(compile(TOOLS + source, str(path), "exec"), {"__name__": "__main__"})
    assert report.result.skipped == ()
    return list(report.findings)


def loud(source: str, path: Path) -> list[tuple[str, str | None]]:
    return [(found.bug, found.module) for found in findings(source, path) if found.severity != "info"]


@pytest.mark.parametrize("style", [*STYLES, "time first"])
def test_a_removed_causal_mask_is_found_in_every_style(style: str, tmp_path: Path) -> None:
    source = TIME_FIRST
    if style in STYLES:
        value, call = STYLES[style]
        source = GPT.replace("RETURN", value).replace("CALL", call)
    assert loud(source.replace("MASK", "mask"), tmp_path / "healthy.py") == []
    sick = findings(source.replace("MASK", "None"), tmp_path / "sick.py")
    assert [(found.bug, (found.module or "").partition(".")[0]) for found in sick] == [
        ("causal_leak", "layer")
    ]


INSIDE = """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 3)
    def forward(self, x, y):
        return F.cross_entropy(self.linear(x), y)
net = Model()
optimizer = torch.optim.SGD(net.parameters(), lr=1e-4)
x = torch.randn(320, 8)
y = x[:, :3].argmax(1)
for epoch in range(6):
    for i in torch.randperm(320).split(32):
        optimizer.zero_grad()
        net(x[i], LABELS).backward()
        optimizer.step()
"""


def test_labels_inside_forward_are_paired_with_their_own_inputs(tmp_path: Path) -> None:
    assert loud(INSIDE.replace("LABELS", "y[i]"), tmp_path / "healthy.py") == []
    shuffled = loud(INSIDE.replace("LABELS", "y[torch.randperm(32)]"), tmp_path / "sick.py")
    assert ("shuffled_labels", None) in shuffled


GAN = """
D = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Dropout(0.3), nn.Linear(8, 1))
G = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 4))
of_D, of_G = (torch.optim.Adam(net.parameters(), lr=2e-4) for net in (D, G))
valid, fake = torch.ones(16, 1), torch.zeros(16, 1)
for step in range(30):
    real = torch.randn(16, 4)
    of_G.zero_grad()
    made = G(torch.randn(16, 2))
    F.mse_loss(D(made), valid).backward()
    of_G.step()
    of_D.zero_grad()
    real_loss = F.mse_loss(D(real), valid)
    fake_loss = F.mse_loss(D(made.detach()), fake)
    (real_loss + fake_loss).backward()
    of_D.step()
"""
CRITIC = """
plain = [layer for _ in range(5) for layer in (nn.Linear(8, 8), nn.Tanh())]
G = nn.Sequential(nn.Linear(2, 8), *plain, nn.Linear(8, 4))
D = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
of_G, of_D = (torch.optim.RMSprop(net.parameters(), lr=5e-5) for net in (G, D))
for step in range(30):
    of_D.zero_grad()
    z = torch.randn(16, 2)
    (D(G(z).detach()).mean() - D(torch.randn(16, 4)).mean()).backward()
    of_D.step()
    for p in D.parameters():
        p.data.clamp_(-0.01, 0.01)
    of_G.zero_grad()
    (-D(G(z)).mean()).backward()
    of_G.step()
"""
CODES = """
D = nn.Sequential(nn.Linear(4, 8), nn.LeakyReLU(0.2), nn.Linear(8, 5))
G = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))
optimizer = torch.optim.Adam([*G.parameters(), *D.parameters()], lr=1e-6)
for step in range(60):
    optimizer.zero_grad()
    codes = torch.randint(0, 5, (16,))
    F.cross_entropy(D(G(torch.randn(16, 4))), codes).backward()
    optimizer.step()
"""
REGRESSION = """
x = torch.linspace(0, 30, 64)[:, None]
net = nn.Linear(1, 1)
optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
for step in range(200):
    i = torch.randint(0, 64, (32,))
    optimizer.zero_grad()
    F.mse_loss(net(x[i]), 2 * x[i] + 1).backward()
    optimizer.step()
"""


@pytest.mark.parametrize("source", [GAN, CRITIC, REGRESSION], ids=["GAN", "critic", "regression"])
def test_what_is_healthy_is_not_accused(source: str, tmp_path: Path) -> None:
    assert loud(source, tmp_path / "healthy.py") == []


def test_sampled_codes_are_no_labels(tmp_path: Path) -> None:
    assert "shuffled_labels" not in dict(loud(CODES, tmp_path / "codes.py"))


def test_words_are_no_proof(tmp_path: Path) -> None:
    source = """
net = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 1))
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(4):
    for step in range(10):
        optimizer.zero_grad()
        net(torch.randn(16, 8)).square().mean().backward()
        optimizer.step()
    for batch in range(3):
        loss_valid = net(torch.randn(16, 8)).mean().item()
"""
    (found,) = [f for f in findings(source, tmp_path / "a.py") if f.severity != "info"]
    assert (found.bug, found.confidence) == ("train_mode_in_eval", "heuristic")


SMALL = """
net = nn.Linear(8, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
for step in range(24):
    x = torch.randn(32, 8)
    y = x[:, :3].argmax(1)
    LINES
"""
PER_MICRO_BATCH = (
    "optimizer.zero_grad()\n    (F.cross_entropy(net(x), y) / 4).backward()\n    if step % 4 == 3:\n"
)
MISSED = {
    "double_softmax": SMALL.replace(
        "LINES",
        "optimizer.zero_grad()\n    F.nll_loss(net(x).softmax(1).log_softmax(1), y).backward()\n"
        "    optimizer.step()",
    ),
    "zeroed_before_step": SMALL.replace("LINES", PER_MICRO_BATCH + "        optimizer.step()"),
    "test_on_train": """
x = torch.randn(64, 8)
y = x[:, :3].argmax(1)
net = nn.Linear(8, 3)
optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
train, valid = list(zip(x.split(16), y.split(16))), list(zip(x[32:].split(16), y[32:].split(16)))
for epoch in range(4):
    for i in torch.randperm(64).split(16):
        optimizer.zero_grad()
        F.cross_entropy(net(x[i]), y[i]).backward()
        optimizer.step()
    with torch.no_grad():
        right = sum(
            (net(a).argmax(1) == b).sum()
            for a, b in valid
        )
""",
}


@pytest.mark.parametrize("bug", MISSED)
def test_a_known_bug_in_another_style_is_found(bug: str, tmp_path: Path) -> None:
    assert [name for name, _ in loud(MISSED[bug], tmp_path / "sick.py")] == [bug]


def test_a_log_softmax_twice_is_only_a_note(tmp_path: Path) -> None:
    source = MISSED["double_softmax"].replace("nll_loss(net(x).softmax(1)", "cross_entropy(net(x)")
    found = findings(source, tmp_path / "a.py")
    assert [(f.bug, f.severity) for f in found] == [("double_softmax", "info")]


def test_attention_over_the_batch_is_named_with_its_module(tmp_path: Path) -> None:
    source = GPT.replace("RETURN", "scores").replace("MASK", "None").replace(", batch_first=True", "")
    source = source.replace("CALL", "F.cross_entropy(net(text[:, :-1]).flatten(0, 1), text[:, 1:].flatten())")
    (found,) = loud(source, tmp_path / "sick.py")
    assert found[0] == "mixed_rows"
    assert (found[1] or "").startswith("layer")


def test_leftovers_that_leak_into_the_next_epoch_are_found(tmp_path: Path) -> None:
    source = """
net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for epoch in range(3):
    for i in range(8):
        (net(torch.randn(8, 8)).square().mean() / 3).backward()
        if (i + 1) % 3 == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
    assert [bug for bug, _ in loud(source, tmp_path / "sick.py")] == ["leftover_dropped"]
    assert loud(source.replace("range(8)", "range(9)"), tmp_path / "healthy.py") == []


def test_parameters_in_a_list_are_named_by_its_attribute(tmp_path: Path) -> None:
    source = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.head = [nn.Linear(8, 8), nn.Linear(8, 8)], nn.Linear(8, 1)
    def forward(self, x):
        for block in self.blocks:
            x = block(x).relu()
        return self.head(x)
net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    optimizer.zero_grad()
    net(torch.randn(8, 8)).square().mean().backward()
    optimizer.step()
"""
    (found,) = [f for f in findings(source, tmp_path / "sick.py") if f.bug == "missing_parameters"]
    assert "in the plain list or dictionary blocks" in found.evidence


def test_a_scaled_loss_is_not_quoted(tmp_path: Path) -> None:
    source = """
net = nn.Linear(8, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=1e-8)
for step in range(30):
    x = torch.randn(32, 8)
    optimizer.zero_grad()
    (F.mse_loss(net(x), x[:, :1]) * 65536).backward()
    for parameter in net.parameters():
        parameter.grad /= 65536
    optimizer.step()
"""
    (found,) = [f for f in findings(source, tmp_path / "a.py") if f.bug == "rate_too_low"]
    assert "times 65536" in found.evidence
    assert "unscale_" in found.fix


def test_unscaled_inputs_do_no_harm_where_updates_by_hand_converge(tmp_path: Path) -> None:
    source = """
net = nn.Linear(2, 1)
for step in range(40):
    x = torch.randn(32, 2) * torch.tensor([20.0, 1.0])
    net.zero_grad()
    F.mse_loss(net(x), x.sum(1, keepdim=True)).backward()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter -= RATE * parameter.grad
"""
    for rate, severity in (("1e-3", "info"), ("1e-9", "warning")):
        found = findings(source.replace("RATE", rate), tmp_path / f"{severity}.py")
        assert [f.severity for f in found if f.bug == "unscaled_input"] == [severity]


def test_a_sum_does_no_harm_where_every_step_has_all_rows_and_converges(tmp_path: Path) -> None:
    source = """
net, x = nn.Linear(8, 1), torch.randn(32, 8)
optimizer = torch.optim.SGD(net.parameters(), lr=RATE)
for step in range(40):
    ROWS
    optimizer.zero_grad()
    F.mse_loss(net(x), x.sum(1, keepdim=True), reduction="sum").backward()
    optimizer.step()
"""
    cases = {
        ("1e-3", "pass"): "info",
        ("1e-6", "pass"): "warning",
        ("1e-3", "x = torch.randn(32, 8)"): "warning",
    }
    for number, ((rate, rows), severity) in enumerate(cases.items()):
        program = source.replace("RATE", rate).replace("ROWS", rows)
        found = findings(program, tmp_path / f"{number}.py")
        assert [f.severity for f in found if f.bug == "summed_loss"] == [severity], (rate, rows)
