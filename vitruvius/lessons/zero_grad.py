r"""A loop that forgets zero_grad: its iterates, the optimiser it secretly is, and the exact patch.

The loss is $\frac a2 (w - w^*)^2$; without zeroing, step t applies the sum of all gradients so far,
$w_{t+1} = w_t - \eta \sum_{s \le t} g_s$."""

from cmath import phase
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from math import asin, pi
from random import Random
from typing import Any

import numpy as np
import sympy
import torch
from pydantic import Field
from scipy.signal import lfilter
from torch import nn

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Exact, Proof, Step
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree, holds
from vitruvius.nn.seeding import torch_seeded

SUBJECT = "training"
TASK = (
    "A training loop that forgets to zero the gradients, on the loss a/2 (w - w*)^2 with a = "
    "<curvature>, w* = <target>, the start w = <start> and the learning rate <rate>. Which part of its "
    "distance to w* does one step with zeroing go (pace)? Work out the first <steps> steps with and "
    "without zeroing (start included), and the number of steps of one swing of the loop without."
)
PATCH = """\
 model.train()
-optimizer.zero_grad()
 for inputs, labels in training_set:
+    optimizer.zero_grad()
     predictions = model(inputs)
     loss = loss_fn(predictions, labels)
     loss.backward()
     optimizer.step()
"""
EQUIVALENT = {"optimiser": "SGD with momentum 1: nothing brakes", "momentum": 1}
CARRIED = {"with": 0, "without": 1}
"""The part of the step before that a step repeats, with zeroing and without."""
DRAWN, LONG, NETWORK_STEPS = 40, 200, 300


class Question(lessons.Question):
    """A parabola, where the weight starts, the learning rate, and the noise of a mini-batch's gradient."""

    start: Exact = Fraction(1)
    target: Exact = Fraction(0)
    """Where the loss is least."""
    curvature: Exact = Fraction(500)
    rate: Exact = Fraction(1, 1000)
    steps: int = Field(8, ge=1, le=DRAWN)
    noise: Exact = Fraction(1000)
    """Standard deviation of one sample's gradient."""
    batch: int = Field(100, ge=1)

    def refuse(self) -> None:
        for name in ("curvature", "rate"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}, it must be positive")
        if self.pace > 5:
            needs = "it needs to be at most 5: from 2 on even the right loop diverges"
            raise ValueError(f"rate x curvature is {self.pace}, {needs}")
        if self.noise < 0:
            raise ValueError(f"noise is {self.noise}, a standard deviation is not negative")
        if self.start == self.target:
            needs = "it must differ from target, or there is nothing to learn"
            raise ValueError(f"start is {self.start}, {needs}")

    @property
    def pace(self) -> Fraction:
        """Part of the distance to the minimum that one proper step goes."""
        return self.rate * self.curvature

    @property
    def kick(self) -> float:
        """The variance that one noisy gradient adds to the weight."""
        return float(self.rate**2 * self.noise**2 / self.batch)


def solve(question: Question) -> Iterator[Step | Answer]:
    """Both runs side by side, the recursion of the second, what noise does to it, and the patch."""
    board = Board(vars(question), pace=question.pace, rest=2 - question.pace, long=LONG)
    start, target, pace = question.start, question.target, question.pace
    runs = {name: _iterates(start, target, pace, carry, DRAWN) for name, carry in CARRIED.items()}
    board["iterates"] = {name: run[: question.steps + 1] for name, run in runs.items()}
    yield board.step(
        "Every gradient is <curvature> (w - <target>), so a step with zeroing keeps 1 - <pace> of the "
        "distance. backward() adds to .grad: without zeroing each step applies the sum of all gradients "
        "since the start.",
        r"w_{t+1} = w_t - \eta g_t \quad \mathrm{against} \quad w_{t+1} = w_t - \eta \sum_{s \le t} g_s, "
        r"\quad \eta a = <rate> \cdot <curvature> = <pace>",
    )
    yield board.step(
        "The first <steps> steps of both. They agree on the first one; then the sum goes on pushing past the "
        "minimum: step <steps> ends at <iterates[without][-1]:.4g> instead of <iterates[with][-1]:.4g>.",
        r"w_1 = <start> - <pace> (<start> - <target>) = <iterates[with][1]>, \quad "
        r"w_{\mathrm{with}} = <iterates[with]>, \quad w_{\mathrm{without}} = <iterates[without]>",
        "iterates",
        curves("The same start", runs, range(DRAWN + 1), ("step", "w")),
    )
    root, period = _motion(float(question.pace))
    swing = f"one swing takes {period:.4g} steps" if period else "the distance grows without end"
    board |= {"root": root, "period": period, "swing": swing}
    yield board.step(
        "The running sum is a velocity: this is SGD with momentum 1, and on a parabola a pendulum without "
        "friction. The roots of its recursion have product 1, the larger one has size <root:.4g>, and "
        "<swing>. 'Unstable' is the common mistake: up to a learning rate of 4/a, twice what proper descent "
        "bears, it neither blows up nor converges.",
        r"w_{t+1} - 2 w_t + w_{t-1} = -\eta a (w_t - w^*), \quad z^2 - <rest> z + 1 = 0",
        "root period",
    )
    board |= {"noisy": _noisy(question), "equivalent": EQUIVALENT | board.pick("root period"), "patch": PATCH}
    yield from _network_steps(board)
    yield Answer(fields=board.pick("iterates equivalent noisy patch"))


def _network_steps(board: Board) -> Iterator[Step]:
    yield board.step(
        "Mini-batches of <batch> make it diverge: each step adds a kick, and without friction kicks add up "
        "for ever. After <long> steps the mean squared distance is <noisy[with]:.4g> with zeroing and "
        "<noisy[without]:.4g> without, growing in proportion to the number of steps.",
        r"\mathbb{E} (w_{<long>} - w^*)^2 = <noisy[with]> \quad \mathrm{against} \quad <noisy[without]>",
        "noisy",
    )
    runs = [_network_losses(rate, fixed) for rate in (0.3, 0.01) for fixed in (True, False)]
    board["end"] = [losses[-1] for losses in runs]
    shown = dict(zip(("patched", "as it was"), runs[:2], strict=True))
    yield board.step(
        f"A small network, {NETWORK_STEPS} steps: at learning rate 0.3 the patched loop ends at loss "
        "<end[0]:.4g>, the other at <end[1]:.4g>. At 0.01 the bug even looks like help, <end[3]:.4g> against "
        "<end[2]:.4g>, for momentum speeds up the start: a falling loss does not acquit a loop. The patch "
        "moves one line: gradients are cleared at the top of every round.",
        value="patch",
        figure=curves("A network, rate 0.3", shown, range(NETWORK_STEPS), ("step", "loss")),
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Both loops run as they are written, torch's momentum, the roots, and the filter that noise passes
    through.
    """
    ran = {"with": _ran(question, True, 0.0), "without": _ran(question, False, 0.0)}
    yield agree("iterates", "both loops run by torch", answer["iterates"], ran)
    heavy = _ran(question, True, float(answer["equivalent"]["momentum"]))
    yield agree("equivalent", "the patched loop with that momentum", answer["iterates"]["without"], heavy)
    z = sympy.Symbol("z")
    roots = list(map(complex, sympy.roots(z**2 - (2 - sympy.Rational(str(question.pace))) * z + 1, z)))
    turns = [2 * pi / abs(phase(root)) for root in roots if root.imag]
    found = EQUIVALENT | {"root": max(map(abs, roots)), "period": turns[0] if turns else None}
    yield agree("motion", "roots by sympy", answer["equivalent"], found)
    yield agree("noisy", "sum of squared impulse responses", answer["noisy"], _responses(question), 1e-8)
    method = "the patched loop is the one that was run"
    yield holds("patch", method, answer["patch"] == PATCH, "it moves 1 line")


def attempt(question: Question, write: Attempt) -> None:
    """The pace, both runs, and the period of the second."""
    start, target, right = float(question.start), float(question.target), float(question.pace)
    pace = write(
        "pace",
        right,
        "part of the distance to w* that one step with zeroing goes",
        "What is the gradient of the loss, and what is it multiplied by?",
        r"\eta a",
        doubled=("the gradient is taken without the half of the loss", 2 * right),
        curvature_only=("the learning rate is left out", float(question.curvature)),
    )

    def run(carry: float) -> list[float]:
        return _iterates(start, target, pace, carry, question.steps)

    write(
        "iterates",
        {"with": run(0), "without": run(1)},
        "w before the first step and after each step, with and without zeroing",
        "What does backward() do to a gradient that was not zeroed?",
        r"w_{t+1} = w_t - \eta g_t, \quad w_{t+1} = w_t - \eta \sum_{s \le t} g_s",
        forgotten=("half of the old gradient is kept", {"with": run(0), "without": run(0.5)}),
        same=("both loops are taken to be the same", {"with": run(0), "without": run(0)}),
    )
    if not 0 < pace < 4:
        return
    swing = pi / asin(pace**0.5 / 2)
    write(
        "period",
        swing,
        "steps of one swing without zeroing",
        "By which angle do the roots of the recursion turn in each step?",
        r"\frac{\pi}{\arcsin(\sqrt{\eta a} / 2)}",
        half=("half a swing is counted", swing / 2),
        continuous=("the period of a spring in continuous time is taken", 2 * pi / pace**0.5),
    )


def draw(random: Random) -> dict[str, Any]:
    """A few steps with a short product of rate and curvature."""
    curvature, start = random.choice((2, 4, 5, 8, 10)), random.choice((-3, -2, -1, 1, 2, 3, 4))
    given = {"curvature": curvature, "start": start}
    given |= {"target": random.choice((0, 5, -5)), "steps": random.randint(3, 4)}
    return given | {"rate": f"{random.choice((1, 2, 3, 4))}/{curvature * random.choice((4, 5, 8))}"}


def _iterates(start: Any, target: Any, pace: Any, carry: float, steps: int) -> list[Any]:
    """The weight before the first step and after each, if a step keeps that part of the step before it."""
    total, found = 0 * pace, [start]
    for _ in range(steps):
        total = carry * total + pace * (found[-1] - target)
        found.append(found[-1] - total)
    return found


def _motion(pace: float) -> tuple[float, float | None]:
    """The size of the larger root of z^2 - (2 - pace) z + 1, and the steps of one swing if the roots are
    complex.
    """
    if pace < 4:
        return 1, pi / asin(pace**0.5 / 2)
    return (pace - 2 + (pace * (pace - 4)) ** 0.5) / 2, None


def _noisy(question: Question) -> dict[str, float]:
    """The mean squared distance after many noisy steps, by the recursion of its covariance."""
    pace, found = float(question.pace), {}
    for name, carry in CARRIED.items():  # the state is (distance, velocity)
        move = np.array([[1 - pace, carry], [-pace, carry]])
        state, spread = np.array([float(question.start - question.target), 0.0]), np.zeros((2, 2))
        for _ in range(LONG):
            state, spread = move @ state, move @ spread @ move.T + question.kick
        found[name] = float(state[0] ** 2 + spread[0, 0])
    return found


@lru_cache(maxsize=4)
def _network_losses(rate: float, fixed: bool) -> list[float]:
    """The loss along the loop on a small network and four noisy classes."""
    with torch_seeded(0):
        labels = torch.arange(400) % 4
        inputs = torch.randn(4, 10)[labels] + torch.randn(400, 10)
        model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 4))
    losses: list[float] = []

    def batches() -> Iterator[Any]:
        for step in range(NETWORK_STEPS):
            losses.append(nn.functional.cross_entropy(model(inputs), labels).item())
            rows = slice(step % 4 * 100, step % 4 * 100 + 100)
            yield inputs[rows], labels[rows]

    _run(fixed, model, torch.optim.SGD(model.parameters(), lr=rate), batches(), nn.CrossEntropyLoss())
    return losses


def _run(fixed: bool, model: Any, optimizer: Any, training_set: Iterator[Any], loss_fn: Any) -> None:
    """Run the very text of the patch: its loop without the added lines, or without the removed ones."""
    text = "\n".join(line[1:] for line in PATCH.splitlines() if line[0] != ("-" if fixed else "+"))
    names = {"model": model, "optimizer": optimizer, "training_set": training_set, "loss_fn": loss_fn}
    exec(text, names)  # nosec B102 # the text is a constant of this file


def _ran(question: Question, fixed: bool, momentum: float) -> list[float]:
    """The weights along one of the loops."""
    model = nn.Linear(1, 1, bias=False, dtype=torch.float64)
    nn.init.constant_(model.weight, float(question.start))
    seen: list[float] = []

    def batches() -> Iterator[Any]:
        for _ in range(question.steps):
            seen.append(model.weight.item())
            yield torch.ones(1, 1, dtype=torch.float64), float(question.target)

    def loss_fn(predictions: Any, labels: float) -> Any:
        return float(question.curvature) / 2 * (predictions - labels).square().sum()

    optimizer = torch.optim.SGD(model.parameters(), lr=float(question.rate), momentum=momentum)
    _run(fixed, model, optimizer, batches(), loss_fn)
    return [*seen, model.weight.item()]


def _responses(question: Question) -> dict[str, float]:
    """The same means from the runs that the start and each single kick set off, as responses of a linear
    filter.
    """
    pace, once = float(question.pace), np.eye(1, LONG + 1)[0]
    filters = {"with": ([1.0, pace - 1], once), "without": ([1.0, pace - 2, 1.0], once - np.roll(once, 1))}
    found = {}
    for name, (recursion, start) in filters.items():
        alone = float(question.start - question.target) * lfilter([1.0], recursion, start)[-1]
        found[name] = float(alone**2 + question.kick * (lfilter([1.0], recursion, once)[:-1] ** 2).sum())
    return found
