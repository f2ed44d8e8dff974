"""A transformer that knows no positions: shuffled patches or tokens give the same output."""

from torch import nn

from vitruvius.checks import Example, Finding, Findings, Trace
from vitruvius.checks._experiment import specimens
from vitruvius.checks._positions import attends, order_kept

LESSON = "positions"
SICK = """
import torch
class Tokens(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(9, 8)
        self.layer = torch.nn.TransformerEncoderLayer(8, 2, 8, 0.0, batch_first=True)
        self.head = torch.nn.Linear(8, 2)
        self.register_buffer("places", torch.randn(6, 8))
    def forward(self, text):
        return self.head(self.layer(self.embed(text)).mean(1))
net = Tokens()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    optimizer.zero_grad()
    text = torch.randint(0, 9, (4, 6))
    torch.nn.functional.cross_entropy(net(text), (text[:, 0] > 4).long()).backward()  # here
    optimizer.step()
"""
HEALTHY = SICK.replace("self.layer(self.embed(text))", "self.layer(self.embed(text) + self.places)")


def positions_ignored(trace: Trace) -> Findings:
    """Permute the patches of images, or the tokens of a text: an output that stays knows no positions."""
    for specimen in specimens(trace.examples, _is_ordered):
        what = order_kept(specimen) if specimen.is_steady() else ""
        if what:
            # Rows of numbers, and tokens that come with a mask, may be sets, whose order means nothing.
            is_set = specimen.x.is_floating_point() and specimen.x.dim() < 4
            is_set = is_set or not specimen.example.single_input
            yield Finding(
                where=specimen.example.where,
                evidence=f"{type(specimen.model).__name__} gives the same output when the {what} "
                "are shuffled",
                why="attention and a mean over tokens treat a sequence as a set; order is lost without "
                "positions",
                fix="add learned or sinusoidal positions to the tokens before the first layer",
                severity="info" if is_set else "warning",
                confidence="exact",
                explains=("shuffled_labels", "rate_too_low"),
            )


def _is_ordered(example: Example) -> bool:
    """Self-attention inside, and an input with positions: images, or a sequence of tokens or numbers."""
    x = example.x
    if x is None or example.shifted or not attends(example):
        return False
    embeds = any(isinstance(module, nn.Embedding) for module in example.model.modules())
    tokens = x.dim() == 2 and not x.is_floating_point() and embeds
    numbers = x.dim() in (2, 3) and x.is_floating_point() and x.shape[1] > 2
    return tokens or numbers or (x.dim() == 4 and example.single_input)
