r"""Gradient accumulation: when k small batches are one large batch, and which layers break it.

$\frac1k \sum_i \nabla \ell_i$ over k micro-batches is the gradient of the whole batch if no row of a batch
influences another and all micro-batches have one size. Shapes: B images of C x H x W."""

from collections import OrderedDict
from collections.abc import Iterator
from copy import deepcopy
from functools import lru_cache
from random import Random
from typing import Any

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from vitruvius import lessons
from vitruvius.core.config import Ints
from vitruvius.core.counted import counted
from vitruvius.lessons import Answer, Attempt, Board, Proof, Step
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree
from vitruvius.nn.accumulation import Accumulate, by_modules, difference, modules_mixing_rows
from vitruvius.nn.seeding import torch_seeded

SUBJECT = "training"
TASK = (
    "Gradient accumulation. An epoch of <samples> samples is read in micro-batches of <batch>; the "
    "loop steps after every <steps> micro-batches and not once more at the end. How many "
    "micro-batches and updates does an epoch have, and the gradients of how many samples are left over?"
)
CHANNELS, SIDE, CLASSES, EPS = 6, 5, 5, 1e-5
NORMS = ("batch", "layer")


class Question(lessons.Question):
    """The effective batch, unequal micro-batches, and an epoch that does not come out even."""

    effective: int = Field(32, ge=2, le=64)
    unequal: Ints = (10, 10, 10, 2)
    """Sizes of micro-batches that make up the effective batch."""
    samples: int = Field(44, ge=1, le=512)
    """An epoch, taken `batch` at a time with a step after every `steps` micro-batches."""
    batch: int = Field(8, ge=1, le=512)
    steps: int = Field(4, ge=1, le=512)
    seed: int = Field(0, ge=0)

    def refuse(self) -> None:
        if sum(self.unequal) != self.effective or min(self.unequal) < 1:
            has = f"{list(self.unequal)}, {counted(sum(self.unequal), 'sample')}"
            needs = f"it needs positive sizes that add up to effective = {self.effective}"
            raise ValueError(f"unequal has {has}, {needs}")


def solve(question: Question) -> Iterator[Step | Answer]:
    """The table of all combinations, who is guilty and why, unequal micro-batches, and the leftover ones."""
    models, x_BCHW = {norm: _network(question, norm) for norm in NORMS}, _images(question)[0]
    runs = {norm: _by_modules(question, model) for norm, model in models.items()}
    micro_batches = -(-question.samples // question.batch)
    updates = micro_batches // question.steps
    left = max(0, question.samples - updates * question.steps * question.batch)
    fields: dict[str, Any] = {
        "table": _rows(question.effective, runs),
        "guilty": {
            n: modules_mixing_rows(m, len(x_BCHW), lambda net: net(x_BCHW), 1e-9) for n, m in models.items()
        },
        "unequal": _ways(runs["layer"], list(question.unequal)),
        "leftover": {"micro_batches": micro_batches, "updates": updates, "samples": left},
    }
    yield _table_step(question.effective, fields["table"])
    yield from _mistake_steps(question, Board(vars(question) | fields, modules=len(models["batch"])))
    yield Answer(fields=fields)


def _table_step(effective: int, table: list[dict[str, Any]]) -> Step:
    by_norm = [[row for row in table if row["norm"] == norm] for norm in NORMS]
    errors = {f"{rows[0]['norm']} norm": [row["gradient"] for row in rows] for rows in by_norm}
    parts = [rf"\Delta \mathrm{{{of}}}_{{\mathrm{{{n}N}}}}" for n in "BL" for of in ("logits", "gradient")]
    lines = [[*list(bn.values())[1:], *list(ln.values())[3:]] for bn, ln in zip(*by_norm, strict=True)]
    board = Board(effective=effective, worst=list(map(max, errors.values())), table=table)
    board["lines"] = [[r"\mathrm{batch}", r"\mathrm{steps}", *parts], *lines]
    batches = [row["batch"] for row in by_norm[0]]
    axes = ("micro-batch", "relative difference of the gradient")
    return board.step(
        "Two networks that differ in their normalisation get the same <effective> images in every (batch, "
        "steps), compared with (<effective>, 1). The accumulated gradient is off by up to <worst[0]:.3g> of "
        "its length with BatchNorm and by <worst[1]:.3g> with LayerNorm.",
        r"\frac1k \sum_{i=1}^k \nabla \ell(x_i, y_i) \quad \mathrm{against} \quad \nabla \ell(x, y): \quad "
        r"<lines>",
        "table",
        curves("Accumulated against whole", errors, batches, axes, log="x"),
    )


def _mistake_steps(question: Question, board: Board) -> Iterator[Step]:
    board |= {"mixing": len(board["guilty"]["batch"]), "moved": 1 - 0.9**question.effective}
    board |= {"sizes": question.unequal, "parts": len(question.unequal)}
    yield board.step(
        "Each module gets its input whole and in two halves: <mixing> of <modules> answer differently "
        "(<guilty[batch]>): BatchNorm takes mean and variance over the rows it sees together. The test must "
        "run in training mode, with running statistics BatchNorm would pass; but those differ as well: one "
        "large batch moves them a tenth of the way, <effective> single images <moved:.3g> of it.",
        r"\hat x = \frac{x - \mu_B}{\sqrt{\sigma_B^2 + \epsilon}}",
        "guilty",
    )
    yield board.step(
        "Dividing each mean loss by the <parts> micro-batches is right only if they are equally large: with "
        "sizes [<sizes>] even LayerNorm is off by <unequal[divided]:.4g>, for a sample of a small "
        "micro-batch counts more. That is the common mistake; the shares of samples are the right weights "
        "and leave <unequal[weighted]:.3g>.",
        r"\sum_i \frac{n_i}{n} \nabla \ell_i \quad \mathrm{instead\ of} \quad \frac1k \sum_i \nabla \ell_i",
        "unequal",
    )
    named = dict(zip(("micro_batches", "updates", "samples_left"), board["leftover"].values(), strict=True))
    board |= named
    last = board.step(
        "<samples> samples in batches of <batch> are <micro_batches> micro-batches, but the loop steps only "
        "after every <steps> (updates: <updates>); the gradients of <samples_left> samples stay in .grad and "
        "leak into the next epoch's first step. Step once more after the loop, rightly weighted, or zero.",
        r"m = \lceil n / b \rceil = <micro_batches>, \quad u = \lfloor m / k \rfloor = <updates>, \quad "
        r"\max(0, n - u k b) = <samples_left>",
        value="leftover",
    )
    yield last.model_copy(update={"named": named})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The network written out by hand, rows that feel one another, and the loop run and watched."""
    for name, (method, found) in _again(question).items():
        yield agree(name, method, answer[name], found, 1e-8)


def attempt(question: Question, write: Attempt) -> None:
    """What an epoch leaves over."""
    samples, batch, steps = question.samples, question.batch, question.steps
    micro = write(
        "micro_batches",
        -(-samples // batch),
        "micro-batches of an epoch",
        "Does the last, smaller micro-batch count?",
        r"m = \lceil n / b \rceil",
        dropped=("the last, smaller micro-batch is not counted", samples // batch),
    )
    updates = write(
        "updates",
        int(micro // steps),
        "updates of an epoch",
        "Does the loop step when fewer micro-batches are left than it waits for?",
        r"u = \lfloor m / k \rfloor",
        stepped=("a step is made for the leftover micro-batches, too", int(-(-micro // steps))),
        every=("a step is made after every micro-batch", micro),
    )
    write(
        "samples_left",
        max(0, samples - updates * steps * batch),
        "samples whose gradients are left over",
        "How many samples went into the updates?",
        r"n - u k b",
        full=("all leftover micro-batches are taken to be full", (micro - updates * steps) * batch),
        counted=("micro-batches are counted, not samples", micro - updates * steps),
    )


def draw(random: Random) -> dict[str, Any]:
    """An epoch whose last micro-batch is smaller and whose last steps are missing."""
    batch, steps = random.randint(4, 9), random.randint(3, 6)
    micro = steps * random.randint(2, 6) + random.randint(1, steps - 2)
    return {"batch": batch, "steps": steps, "samples": micro * batch + random.randint(1, batch - 1)}


def _network(question: Question, norm: str) -> nn.Sequential:
    """Two normalised convolutions, the mean over the image, a linear head; in training mode."""

    def block(number: int, channels: int) -> dict[str, nn.Module]:
        shape = [CHANNELS, SIDE, SIDE]
        normed = nn.BatchNorm2d(CHANNELS, eps=EPS) if norm == "batch" else nn.LayerNorm(shape, eps=EPS)
        convolution = nn.Conv2d(channels, CHANNELS, 3, padding=1)
        return {f"conv{number}": convolution, f"norm{number}": normed, f"relu{number}": nn.ReLU()}

    with torch_seeded(question.seed):
        layers = block(1, 3) | block(2, CHANNELS) | {"pool": nn.AdaptiveAvgPool2d(1), "flat": nn.Flatten()}
        layers["head"] = nn.Linear(CHANNELS, CLASSES)
    return nn.Sequential(OrderedDict(layers)).double()


def _images(question: Question) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(question.seed + 1)
    x_BCHW = torch.randn(question.effective, 3, SIDE, SIDE, generator=generator, dtype=torch.float64)
    return x_BCHW, torch.randint(CLASSES, (question.effective,), generator=generator)


def _by_modules(question: Question, model: nn.Module) -> Accumulate:
    """Accumulation as a training loop does it."""
    x_BCHW, y_B = _images(question)

    def measure(network: nn.Module, rows: slice) -> tuple[Tensor, Tensor]:
        logits = network(x_BCHW[rows])
        return logits, functional.cross_entropy(logits, y_B[rows])

    return by_modules(model, measure)


def _rows(effective: int, runs: dict[str, Accumulate]) -> list[dict[str, Any]]:
    """One row per norm and pair (batch, steps) with that product."""
    rows = []
    for norm, run in runs.items():
        for batch in (size for size in range(1, effective + 1) if effective % size == 0):
            steps = effective // batch
            errors = zip(
                ("logits", "gradient"), difference(run, [batch] * steps, [1 / steps] * steps), strict=True
            )
            rows.append({"norm": norm, "batch": batch, "steps": steps, **dict(errors)})
    return rows


def _ways(run: Accumulate, sizes: list[int]) -> dict[str, float]:
    """The error of the gradient with either kind of shares."""
    shares = {"divided": [1 / len(sizes)] * len(sizes), "weighted": [size / sum(sizes) for size in sizes]}
    return {name: difference(run, sizes, share)[1] for name, share in shares.items()}


@lru_cache(maxsize=4)
def _again(question: Question) -> dict[str, tuple[str, Any]]:
    models = {norm: _network(question, norm) for norm in NORMS}
    runs = {norm: _by_hand(question, model, norm) for norm, model in models.items()}
    mixing = {norm: _mixing(question, model) for norm, model in models.items()}
    method = "convolutions and norms written out by hand"
    return {
        "table": (method, _rows(question.effective, runs)),
        "guilty": ("autograd from one row to another", mixing),
        "unequal": (method, _ways(runs["layer"], list(question.unequal))),
        "leftover": ("the loop run and watched", _watched(question)),
    }


def _by_hand(question: Question, model: nn.Module, norm: str) -> Accumulate:
    """Accumulation with every layer as its formula."""
    x_BCHW, y_B = _images(question)
    weights = {name: weight.detach().clone().requires_grad_() for name, weight in model.named_parameters()}
    axes, shape = ((0, 2, 3), (-1, 1, 1)) if norm == "batch" else ((1, 2, 3), (CHANNELS, SIDE, SIDE))

    def forward(x: Tensor) -> Tensor:
        for i in (1, 2):
            columns = functional.unfold(x, 3, padding=1)
            x = weights[f"conv{i}.weight"].flatten(1) @ columns + weights[f"conv{i}.bias"][:, None]
            x = x.view(*x.shape[:2], SIDE, SIDE)
            centred = x - x.mean(axes, keepdim=True)
            scale, shift = (weights[f"norm{i}.{part}"].view(shape) for part in ("weight", "bias"))
            variance = centred.square().mean(axes, keepdim=True)
            x = (centred / (variance + EPS).sqrt() * scale + shift).clamp(min=0)
        return x.mean((2, 3)) @ weights["head.weight"].T + weights["head.bias"]

    def run(sizes: list[int], shares: list[float]) -> tuple[Tensor, Tensor]:
        logits = torch.cat([forward(x) for x in torch.split(x_BCHW, sizes)])
        rows = torch.split(logits.logsumexp(1) - logits[torch.arange(len(y_B)), y_B], sizes)
        loss = torch.stack([share * part.mean() for part, share in zip(rows, shares, strict=True)]).sum()
        grads = torch.autograd.grad(loss, list(weights.values()))
        return logits.detach(), torch.cat([grad.flatten() for grad in grads])

    return run


def _mixing(question: Question, model: nn.Sequential) -> list[str]:
    """The modules in which the output of the first row depends on the other rows."""
    x, found = _images(question)[0], []
    for name, module in deepcopy(model).named_children():
        x = x.detach().requires_grad_()
        out = module(x)
        # uneven weights: the plain sum of a normalised row is constant, its gradient 0
        weights = torch.linspace(1, 2, out[0].numel(), dtype=out.dtype).view_as(out[0])
        if torch.autograd.grad((out[0] * weights).sum(), x)[0][1:].abs().max() > 1e-12:
            found.append(name)
        x = out
    return found


def _watched(question: Question) -> dict[str, int]:
    """What the loop with `if (i + 1) % steps == 0: step(); zero_grad()` does in one epoch."""
    weight, updates = torch.zeros(1, requires_grad=True), 0
    optimiser = torch.optim.SGD([weight], lr=1.0)
    batches = torch.split(torch.ones(question.samples), question.batch)
    for i, rows in enumerate(batches):
        torch.autograd.backward((weight * rows).sum())
        if (i + 1) % question.steps == 0:
            optimiser.step()
            optimiser.zero_grad()
            updates += 1
    left = 0 if weight.grad is None else int(weight.grad.item())
    return {"micro_batches": len(batches), "updates": updates, "samples": left}
