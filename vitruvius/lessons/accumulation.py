r"""Gradient accumulation: when k small batches are one large batch, and which layers break it.

$\frac1k \sum_i \nabla \ell_i$ over k micro-batches is the gradient of the whole batch if no row of a batch influences
another and all micro-batches have one size. Shapes: B images of C x H x W.
"""

from collections.abc import Iterator
from copy import deepcopy
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Lines, Series
from vitruvius.core.config import Ints
from vitruvius.lessons import Answer, Proof, Step
from vitruvius.lessons._board import matrix
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    from torch import Tensor, nn

    from vitruvius.nn.accumulation import Accumulate

SUBJECT = "training"
CHANNELS, SIDE, CLASSES, EPS = 6, 5, 5, 1e-5


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

    @model_validator(mode="after")
    def _fits(self) -> "Question":
        if sum(self.unequal) != self.effective or min(self.unequal) < 1:
            has = f"{list(self.unequal)}, {sum(self.unequal)} samples"
            raise ValueError(
                f"unequal has {has}, it needs positive sizes that add up to effective = {self.effective}"
            )
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """The table of all combinations, who is guilty and why, unequal micro-batches, and the leftover ones."""
    models = {norm: _network(question, norm) for norm in ("batch", "layer")}
    table = _rows(question.effective, {norm: _by_modules(question, model) for norm, model in models.items()})
    worst = {norm: max(row["gradient"] for row in table if row["norm"] == norm) for norm in models}
    yield Step(
        says=f"Two networks that differ in their normalisation get the same {question.effective} images in every "
        f"(batch, steps), compared with ({question.effective}, 1). The accumulated gradient is off by up to "
        f"{worst['batch']:.3g} of its length with BatchNorm and by {worst['layer']:.3g} with LayerNorm.",
        formula=r"\frac1k \sum_{i=1}^k \nabla \ell(x_i, y_i) \quad \mathrm{against} \quad \nabla \ell(x, y): \quad "
        + _written(table),
        value=table,
        figure=_figure(table),
    )
    guilty = {norm: _guilty(question, model) for norm, model in models.items()}
    yield Step(
        says=f"Each module gets its input whole and in two halves: {len(guilty['batch'])} of {len(models['batch'])} "
        f"answer differently ({', '.join(guilty['batch'])}): BatchNorm takes mean and variance over the rows it sees "
        "together. The test must run in training mode, with running statistics BatchNorm would pass; but those differ "
        f"as well: one large batch moves them a tenth of the way, {question.effective} single images "
        f"{1 - 0.9**question.effective:.3g} of it.",
        formula=r"\hat x = \frac{x - \mu_B}{\sqrt{\sigma_B^2 + \epsilon}}",
        value=guilty,
    )
    unequal = _ways(_by_modules(question, models["layer"]), list(question.unequal))
    yield Step(
        says=f"Dividing each mean loss by the {len(question.unequal)} micro-batches is right only if they are equally "
        f"large: with sizes {list(question.unequal)} even LayerNorm is off by {unequal['divided']:.4g}, for a sample "
        "of a small micro-batch counts more. That is the common mistake; the shares of samples are the right weights "
        f"and leave {unequal['weighted']:.3g}.",
        formula=r"\sum_i \frac{n_i}{n} \nabla \ell_i \quad \mathrm{instead\ of} \quad \frac1k \sum_i \nabla \ell_i",
        value=unequal,
    )
    leftover = _leftover(question)
    yield leftover
    yield Answer(fields={"table": table, "guilty": guilty, "unequal": unequal, "leftover": leftover.value})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The network written out by hand, rows that feel one another, and the loop run and watched."""
    for name, (method, found) in _again(question).items():
        yield agree(name, method, answer[name], found, 1e-8)


def _leftover(question: Question) -> Step:
    micro_batches = -(-question.samples // question.batch)
    updates = micro_batches // question.steps
    left = max(0, question.samples - updates * question.steps * question.batch)
    return Step(
        says=f"{question.samples} samples in batches of {question.batch} are {micro_batches} micro-batches, but the "
        f"loop steps only after every {question.steps} (updates: {updates}); the gradients of {left} samples stay in "
        ".grad and leak into the next epoch's first step. Step once more after the loop, rightly weighted, or zero.",
        value={"micro_batches": micro_batches, "updates": updates, "samples": left},
    )


def _network(question: Question, norm: str) -> "nn.Sequential":
    """Two normalised convolutions, the mean over the image, a linear head; in training mode."""
    import torch
    from torch import nn

    shape = [CHANNELS, SIDE, SIDE]

    def block(number: int, channels: int) -> dict[str, nn.Module]:
        normed = nn.BatchNorm2d(CHANNELS, eps=EPS) if norm == "batch" else nn.LayerNorm(shape, eps=EPS)
        convolution = nn.Conv2d(channels, CHANNELS, 3, padding=1)
        return {f"conv{number}": convolution, f"norm{number}": normed, f"relu{number}": nn.ReLU()}

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(question.seed)
        layers = {**block(1, 3), **block(2, CHANNELS), "pool": nn.AdaptiveAvgPool2d(1), "flat": nn.Flatten()}
        layers["head"] = nn.Linear(CHANNELS, CLASSES)
    model = nn.Sequential()
    for name, layer in layers.items():
        model.add_module(name, layer.double())
    return model


def _images(question: Question) -> tuple["Tensor", "Tensor"]:
    import torch

    generator = torch.Generator().manual_seed(question.seed + 1)
    x_BCHW = torch.randn(question.effective, 3, SIDE, SIDE, generator=generator, dtype=torch.float64)
    return x_BCHW, torch.randint(CLASSES, (question.effective,), generator=generator)


def _by_modules(question: Question, model: "nn.Module") -> "Accumulate":
    """Accumulation as a training loop does it."""
    from torch.nn import functional

    from vitruvius.nn.accumulation import by_modules

    x_BCHW, y_B = _images(question)

    def measure(network: "nn.Module", rows: slice) -> tuple["Tensor", "Tensor"]:
        logits = network(x_BCHW[rows])
        return logits, functional.cross_entropy(logits, y_B[rows])

    return by_modules(model, measure)


def _rows(effective: int, runs: dict[str, "Accumulate"]) -> list[dict[str, Any]]:
    """One row per norm and pair (batch, steps) with that product."""
    from vitruvius.nn.accumulation import difference

    rows = []
    for norm, run in runs.items():
        for batch in (size for size in range(1, effective + 1) if effective % size == 0):
            steps = effective // batch
            logits, gradient = difference(run, [batch] * steps, [1 / steps] * steps)
            rows.append(
                {"norm": norm, "batch": batch, "steps": steps, "logits": logits, "gradient": gradient}
            )
    return rows


def _ways(run: "Accumulate", sizes: list[int]) -> dict[str, float]:
    """The error of the gradient with either kind of shares."""
    from vitruvius.nn.accumulation import difference

    shares = {"divided": [1 / len(sizes)] * len(sizes), "weighted": [size / sum(sizes) for size in sizes]}
    return {name: difference(run, sizes, share)[1] for name, share in shares.items()}


def _written(table: list[dict[str, Any]]) -> str:
    """Batch, steps, and for both norms how far logits and gradient are off."""
    half = len(table) // 2
    parts = ((what, norm) for norm in ("BN", "LN") for what in ("logits", "gradient"))
    head = [r"\mathrm{batch}", r"\mathrm{steps}"]
    head += [rf"\Delta \mathrm{{{what}}}_{{\mathrm{{{norm}}}}}" for what, norm in parts]
    pairs = zip(table[:half], table[half:], strict=True)
    return matrix(
        [head, *([*list(batch.values())[1:], layer["logits"], layer["gradient"]] for batch, layer in pairs)]
    )


def _figure(table: list[dict[str, Any]]) -> Lines:
    series = []
    for norm in ("batch", "layer"):
        rows = [row for row in table if row["norm"] == norm]
        x, y = tuple(float(row["batch"]) for row in rows), tuple(row["gradient"] for row in rows)
        series.append(Series(name=f"{norm} norm", x=x, y=y))
    title, label = "Accumulated against whole", "relative difference of the gradient"
    return Lines(title=title, series=tuple(series), x_label="micro-batch", y_label=label, log_x=True)


def _guilty(question: Question, model: "nn.Sequential") -> list[str]:
    from vitruvius.nn.accumulation import modules_mixing_rows

    x_BCHW = _images(question)[0]
    return modules_mixing_rows(model, len(x_BCHW), lambda network: network(x_BCHW), 1e-9)


@lru_cache(maxsize=4)
def _again(question: Question) -> dict[str, tuple[str, Any]]:
    models = {norm: _network(question, norm) for norm in ("batch", "layer")}
    runs = {norm: _by_hand(question, model, norm) for norm, model in models.items()}
    method = "convolutions and norms written out by hand"
    return {
        "table": (method, _rows(question.effective, runs)),
        "guilty": (
            "autograd from one row to another",
            {norm: _mixing(question, m) for norm, m in models.items()},
        ),
        "unequal": (method, _ways(runs["layer"], list(question.unequal))),
        "leftover": ("the loop run and watched", _watched(question)),
    }


def _by_hand(question: Question, model: "nn.Module", norm: str) -> "Accumulate":
    """Accumulation with every layer as its formula."""
    import torch
    from torch.nn import functional

    x_BCHW, y_B = _images(question)
    weights = {name: weight.detach().clone().requires_grad_() for name, weight in model.named_parameters()}
    axes = (0, 2, 3) if norm == "batch" else (1, 2, 3)

    def forward(x: "Tensor") -> "Tensor":
        for i in (1, 2):
            columns = functional.unfold(x, 3, padding=1)
            x = weights[f"conv{i}.weight"].flatten(1) @ columns + weights[f"conv{i}.bias"][:, None]
            x = x.view(*x.shape[:2], SIDE, SIDE)
            centred = x - x.mean(axes, keepdim=True)
            scale, shift = (weights[f"norm{i}.{part}"] for part in ("weight", "bias"))
            scale, shift = (p[:, None, None] if norm == "batch" else p for p in (scale, shift))
            x = (centred / (centred.square().mean(axes, keepdim=True) + EPS).sqrt() * scale + shift).clamp(
                min=0
            )
        return x.mean((2, 3)) @ weights["head.weight"].T + weights["head.bias"]

    def run(sizes: list[int], shares: list[float]) -> tuple["Tensor", "Tensor"]:
        logits = torch.cat([forward(x) for x in torch.split(x_BCHW, sizes)])
        rows = torch.split(logits.logsumexp(1) - logits[torch.arange(len(y_B)), y_B], sizes)
        loss = torch.stack([share * part.mean() for part, share in zip(rows, shares, strict=True)]).sum()
        return logits.detach(), torch.cat(
            [g.flatten() for g in torch.autograd.grad(loss, list(weights.values()))]
        )

    return run


def _mixing(question: Question, model: "nn.Sequential") -> list[str]:
    """The modules in which the output of the first row depends on the other rows."""
    import torch

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
    import torch

    weight = torch.zeros(1, requires_grad=True)
    optimiser = torch.optim.SGD([weight], lr=1.0)
    seen = {"micro_batches": 0, "updates": 0, "samples": 0}
    for i, rows in enumerate(torch.split(torch.ones(question.samples), question.batch)):
        torch.autograd.backward((weight * rows).sum())
        seen["micro_batches"] += 1
        if (i + 1) % question.steps == 0:
            optimiser.step()
            optimiser.zero_grad()
            seen["updates"] += 1
    seen["samples"] = 0 if weight.grad is None else int(weight.grad.item())
    return seen
