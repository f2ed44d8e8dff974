"""A transformer that knows no positions: shuffled patches or tokens give the same output."""

from collections.abc import Iterator

import torch
from torch import Tensor, nn

from vitruvius.checks import Example, Finding, Findings, Trace
from vitruvius.checks._experiment import moved, specimens

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
    for specimen in specimens(trace.examples, _attends):
        if not specimen.is_steady():
            continue
        before = specimen.output(specimen.x)
        for shuffled, what in _shuffles(specimen.x):
            if not moved(before, specimen.output(shuffled)):
                yield Finding(
                    where=specimen.example.where,
                    evidence=f"{type(specimen.model).__name__} gives the same output when the {what} are "
                    "shuffled",
                    why="attention and a mean over tokens treat a sequence as a set; order is lost without "
                    "positions",
                    fix="add learned or sinusoidal positions to the tokens before the first layer",
                    confidence="exact",
                    explains=("shuffled_labels", "rate_too_low"),
                )
                break


def _attends(example: Example) -> bool:
    """Self-attention inside, and an input with positions: images or a sequence of whole numbers."""
    names = [type(module).__name__.lower() for module in example.model.modules()]
    attention = any("attention" in name or "attn" in name or "transformer" in name for name in names)
    named = any("attn" in path or "att" in path.split(".") for path, _ in example.model.named_modules())
    x = example.x
    embeds = any(isinstance(module, nn.Embedding) for module in example.model.modules())
    if x is None:
        return False
    tokens = x.dim() == 2 and not x.is_floating_point() and embeds
    fits = (x.dim() == 4 or tokens) and example.single_input and not example.shifted
    return (attention or named) and fits


def _shuffles(x: Tensor) -> Iterator[tuple[Tensor, str]]:
    """The input with its tokens, or with its square patches of any size, in another order."""
    if x.dim() == 2:
        yield x.flip(1), "tokens"
        return
    height, width = x.shape[-2:]
    for side in range(2, min(height, width) // 2 + 1):
        if height % side == 0 and width % side == 0:
            yield _patches_flipped(x, side), f"{side} x {side} patches"


def _patches_flipped(x: Tensor, side: int) -> Tensor:
    """The same patches, last one first."""
    rows, columns = x.shape[-2] // side, x.shape[-1] // side
    cut = x.reshape(*x.shape[:-2], rows, side, columns, side).transpose(-3, -2)
    flat = cut.reshape(*x.shape[:-2], rows * columns, side, side)
    turned = torch.flip(flat, (-3,)).reshape(*x.shape[:-2], rows, columns, side, side)
    return turned.transpose(-3, -2).reshape(x.shape)
