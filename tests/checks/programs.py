"""Small training programs in common styles, and what the doctor says about one."""

from collections.abc import Iterable
from pathlib import Path

import torch

from vitruvius.checks import Finding
from vitruvius.doctor import diagnose

TOOLS = "import torch\nfrom torch import nn\nfrom torch.nn import functional as F\n"
LOOP = """
net = NET
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for step in range(6):
    BATCH
    optimizer.step()
    optimizer.zero_grad()
"""
TOKENS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 8)
        self.places = nn.Parameter(torch.randn(6, 8))
        self.attn = nn.MultiheadAttention(8, 2, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(8, 2, 8, 0.0, batch_first=True)
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 9)
    def forward(self, ids, mask=None):
        h = self.embed(ids) + self.places[: ids.shape[1]]
        INSIDE
        return self.last(h)
"""


def loop(*batch: str, net: str = "nn.Linear(8, 3)", before: str = "") -> str:
    """A training of six steps."""
    return before + LOOP.replace("NET", net).replace("BATCH", "\n    ".join(batch))


def tokens(inside: str, *batch: str) -> str:
    """A training of a small transformer on rows that end in padding of different lengths."""
    rows = (
        "lengths = torch.tensor([6, 3, 4, 5])",
        "ids = torch.randint(1, 9, (4, 6)) * (torch.arange(6) < lengths[:, None])",
        "pad = ids == 0",
    )
    loss = "F.cross_entropy(net(ids).flatten(0, 1), ids.flatten(), ignore_index=0).backward()"
    return loop(*rows, *(batch or (loss,)), net="Net()", before=TOKENS.replace("INSIDE", inside))


X = "x = torch.randn(16, 8)"
Y = "y = x[:, :3].argmax(1)"
CE = "F.cross_entropy(net(x), y).backward()"
BLOCK = """
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
    def forward(self, x):
        B, T, D = x.shape
        q, k, v = (f(x).view(B, T, 2, 4).transpose(1, 2) for f in (self.q, self.k, self.v))
        BODY
        return out.transpose(1, 2).reshape(B, T, D)
"""


def attention(body: str) -> str:
    return loop(
        "x = torch.randn(4, 6, 8)",
        "F.mse_loss(net(x), x.roll(1, 1)).backward()",
        net="Block()",
        before=BLOCK.replace("BODY", body),
    )


SCORES = "s = q @ k.transpose(-2, -1) / 2"


def findings(source: str, path: Path) -> list[Finding]:
    path.write_text(TOOLS + source)
    with torch.random.fork_rng(devices=[]):
        report = None
        try:
            with diagnose.watch() as report:
                torch.manual_seed(1)
                exec(compile(TOOLS + source, str(path), "exec"), {"__name__": "__main__"})
        except (RuntimeError, ValueError, IndexError):  # some bugs stop the program
            assert "# here" in source
    assert report is not None
    assert report.result.skipped == ()
    return list(report.findings)


def marked(source: str, path: Path) -> str:
    """The line of a program that is marked with `# here`, as a finding gives it."""
    lines = (TOOLS + source).splitlines()
    return f"{path}:{next(number for number, text in enumerate(lines, 1) if '# here' in text)}"


def bugs(source: str, path: Path) -> list[tuple[str, str]]:
    """The bugs that the doctor finds in a program, with their lines."""
    return [(found.bug, found.where) for found in findings(source, path)]


def alarms(source: str, path: Path, checked: Iterable[str]) -> list[str]:
    """Those of the checked bugs that the doctor warns of, or calls errors."""
    names = set(checked)
    return [f.bug for f in findings(source, path) if f.bug in names and f.severity != "info"]
