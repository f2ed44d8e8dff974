"""The line that builds a layer: `# here`, for a module of a network that is called at `# at`."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.checks.test_places import marked
from vitruvius.checks import Example, Trace
from vitruvius.checks._layers import built_at

HEAD = "import torch\nfrom torch import nn\nx = torch.randn(4, 3)\n"
SEQUENTIAL = """
net = nn.Sequential(
    nn.Linear(3, 3),
    nn.ReLU(),  # here
).to("cpu")
net(x)  # at
"""
FUNCTION = """
def make(width):
    return nn.Sequential(
        nn.Linear(3, width),
        nn.ReLU(),  # here
    )
def fit(model):
    model(x)  # at
net = make(3)
fit(net)
"""
GROWN = """
def make(depth):
    layers = []
    for _ in range(depth):
        layers += [nn.Linear(3, 3), nn.ReLU()]
    return nn.Sequential(*layers)
net = make(4)  # here
net(x)  # at
"""
CLASS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.rest = nn.Sequential(
            nn.Linear(3, 3),
            nn.ReLU(),  # here
        )
    def forward(self, x):
        return self.rest(self.first(x))
net = Net()
net(x)  # at
"""
COMPREHENSION = CLASS.replace(
    "nn.Linear(3, 3),\n            nn.ReLU(),  # here", "*[nn.ReLU() for _ in 'ab']"
)
COMPREHENSION = COMPREHENSION.replace("nn.Sequential(\n", "nn.Sequential(  # here\n")
TRAINER = """
class Trainer:
    def __init__(self, model):
        self.model = model
    def fit(self):
        self.model(x)  # at
net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())  # here
Trainer(net).fit()
"""


@pytest.mark.parametrize(
    ("text", "module"),
    [
        (SEQUENTIAL, "1"),
        (FUNCTION, "1"),
        (GROWN, "5"),
        (CLASS, "rest.1"),
        (COMPREHENSION, "rest.1"),
        (TRAINER, "1"),
    ],
    ids=("sequential", "function", "grown", "class", "comprehension", "trainer"),
)
def test_the_line_that_builds_a_layer_is_found(text: str, module: str, tmp_path: Path) -> None:
    path, text = tmp_path / "script.py", HEAD + text
    path.write_text(text)
    names: dict[str, Any] = {}
    exec(compile(text, str(path), "exec"), names)
    where = f"{path}:{marked(text, '# at')}"
    trace = Trace(examples=[Example(names["net"], (torch.zeros(1, 3),), {}, where)])
    assert built_at(trace, module) == f"{path}:{marked(text, '# here')}"
