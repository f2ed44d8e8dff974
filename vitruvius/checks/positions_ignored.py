"""A transformer that knows no positions: shuffled patches or tokens give the same output."""

from statistics import median

from torch import nn

from vitruvius.checks import Example, Finding, Findings, Trace, holding
from vitruvius.checks._experiment import Specimen, call_line, specimens
from vitruvius.checks._losses import losses
from vitruvius.checks._positions import attends, is_attention, lookups, order_kept

LESSON = "positions"
LEARNT = 0.5
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
        return self.head(self.layer(self.embed(text)).mean(1))  # here
net = Tokens()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(6):
    optimizer.zero_grad()
    text = torch.randint(0, 9, (4, 6))
    torch.nn.functional.cross_entropy(net(text), (text[:, 0] > 4).long()).backward()
    optimizer.step()
"""
HEALTHY = SICK.replace("self.layer(self.embed(text))", "self.layer(self.embed(text) + self.places)")


def positions_ignored(trace: Trace) -> Findings:
    """Permute the patches of images, or the tokens of a text: an output that stays knows no positions."""
    for specimen in specimens(trace.examples, _is_ordered):
        what = order_kept(specimen) if specimen.is_steady() else ""
        if what:
            # Rows of numbers, and tokens that come with a mask, may be sets, whose order means nothing; a
            # loss that falls well shows that it can be done without.
            is_set = specimen.x.is_floating_point() and specimen.x.dim() < 4
            is_set = is_set or not specimen.example.single_input or _learns(trace)
            table, line = _unused(trace, specimen)
            yield Finding(
                where=line or call_line(specimen, is_attention) or specimen.example.where,
                module=table,
                also=(specimen.example.where,),
                evidence=f"{type(specimen.model).__name__} gives the same output when the {what} "
                "are shuffled" + (f"; {table} is there, and what it gives is not used" if table else ""),
                why="attention and a mean over tokens treat a sequence as a set; order is lost without "
                "positions",
                fix="add learned or sinusoidal positions to the tokens before the first layer",
                severity="info" if is_set else "warning",
                confidence="exact",
                explains=("shuffled_labels", "rate_too_low", *(("detached_loss",) if table else ())),
            )


def _learns(trace: Trace) -> bool:
    """Whether the loss falls to half of what it was at first."""
    first, last = losses(trace)
    return len(first) > 1 and median(last) < LEARNT * first[0]


def _unused(trace: Trace, specimen: Specimen) -> tuple[str | None, str]:
    """A table of the network for positions that no gradient reaches, and the line that looks into it."""
    tables = [p for p in trace.parameters.values() if p.name and p.network == specimen.example.network]
    tables = [p for p in tables if not p.reached and len(p.shape) > 1]
    for known in tables:
        module = holding([known.name])
        places = [found for found in lookups(specimen) if found.path in (module, known.name)]
        if places or "pos" in known.name.lower():
            return module or known.name, places[0].where if places else ""
    return None, ""


def _is_ordered(example: Example) -> bool:
    """Self-attention inside, and an input with positions: images, or a sequence of tokens or numbers."""
    x = example.x
    if x is None or example.shifted or not attends(example):
        return False
    embeds = any(isinstance(module, nn.Embedding) for module in example.model.modules())
    tokens = x.dim() == 2 and not x.is_floating_point() and embeds
    numbers = x.dim() in (2, 3) and x.is_floating_point() and x.shape[1] > 2
    return tokens or numbers or (x.dim() == 4 and example.single_input)
