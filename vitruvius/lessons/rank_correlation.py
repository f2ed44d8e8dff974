r"""How well a proxy ranks networks: mid-ranks, Spearman's rho and Kendall's tau, ties included.

$\rho$ is the correlation of the ranks; $\tau_b = (P - Q) / \sqrt{(P + Q + T_x)(P + Q + T_y)}$ with $P$ concordant and
$Q$ discordant pairs and $T_x$, $T_y$ pairs tied in the one list only.
"""

from collections.abc import Generator, Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Self

from pydantic import model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Scatter
from vitruvius.lessons import Answer, Proof, Step, Vector, _board, exact
from vitruvius.lessons._exact import root
from vitruvius.lessons._proofs import agree

SUBJECT = "zero-cost ranking"
MOST = 500


class Question(lessons.Question):
    """One proxy score and one accuracy per network."""

    proxy: Vector = exact((120, 95, 140, 95, 160, 110))
    accuracy: Vector = exact((0.71, 0.68, 0.74, 0.70, 0.73, 0.66))

    @model_validator(mode="after")
    def _can_be_ranked(self) -> Self:
        if len(self.proxy) != len(self.accuracy):
            counts = f"proxy has {len(self.proxy)} values, accuracy {len(self.accuracy)}"
            raise ValueError(f"{counts}: both need one per network")
        if not 2 <= len(self.proxy) <= MOST:
            raise ValueError(f"proxy has {len(self.proxy)} values: a ranking needs 2 to {MOST}")
        for field in ("proxy", "accuracy"):
            if len(set(getattr(self, field))) == 1:
                raise ValueError(f"{field} has the same value everywhere: it needs two different ones to rank by")
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """Ranks, their correlation, and the pairs."""
    x, y = (_mid_ranks(values) for values in (question.proxy, question.accuracy))
    ties = len(x) - len(set(question.proxy)) + len(y) - len(set(question.accuracy))
    yield Step(
        says=f"Write ranks instead of values, 1 for the smallest of {len(x)}. Equal values share the mean of the "
        f"places they take together (values that repeat an earlier one: {ties}).",
        formula=rf"R_x = {_board.row(x)}, \quad R_y = {_board.row(y)}",
        value={"proxy": x, "accuracy": y},
        figure=Scatter(
            title="Ranks by the proxy and by accuracy",
            x=tuple(map(float, x)),
            y=tuple(map(float, y)),
            names=tuple(f"net {index}" for index in range(1, len(x) + 1)),
            x_label="rank by the proxy",
            y_label="rank by accuracy",
        ),
    )
    spearman = yield from _spearman_steps(x, y)
    kendall = yield from _kendall_steps(question)
    yield Answer(fields={"ranks": {"proxy": x, "accuracy": y}, "spearman": spearman, "kendall": kendall})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Scipy's statistics, Kendall's tau as a correlation of signs, and what `vitruvius rank` computes."""
    import numpy as np
    from scipy import stats

    from vitruvius.ranking import statistics

    x, y = (np.array(values, dtype=float) for values in (question.proxy, question.accuracy))
    found = {"proxy": stats.rankdata(x), "accuracy": stats.rankdata(y)}
    yield agree("ranks", "scipy.stats.rankdata", answer["ranks"], found)
    yield agree("spearman", "scipy.stats.spearmanr", answer["spearman"], stats.spearmanr(x, y).statistic)
    yield agree("kendall", "scipy.stats.kendalltau", answer["kendall"], stats.kendalltau(x, y).statistic)
    sign_x, sign_y = (np.sign(values[:, None] - values[None, :]).ravel() for values in (x, y))
    by_signs = sign_x @ sign_y / np.sqrt((sign_x @ sign_x) * (sign_y @ sign_y))
    yield agree("kendall", "cosine of the signs of all differences", answer["kendall"], by_signs)
    once_each = np.ones((1, len(x)))
    ours = {"spearman": statistics.spearman(x, y, once_each)[0], "kendall": statistics.kendall(x, y, once_each)[0]}
    yield agree("both", "vitruvius.ranking.statistics", {name: answer[name] for name in ours}, ours)


def _mid_ranks(values: Sequence[Fraction]) -> list[Fraction]:
    """Rank 1 for the smallest; a value that occurs several times takes the mean of its places."""
    ordered = sorted(values)
    first = {value: place for place, value in reversed(list(enumerate(ordered, 1)))}
    return [first[value] + Fraction(ordered.count(value) - 1, 2) for value in values]


def _spearman_steps(x: list[Fraction], y: list[Fraction]) -> Generator[Step, None, Fraction | float]:
    mean = Fraction(len(x) + 1, 2)
    both, own_x, own_y = (
        sum(((a - mean) * (b - mean) for a, b in zip(left, right, strict=True)), Fraction(0))
        for left, right in ((x, y), (x, x), (y, y))
    )
    rho = both / root(own_x * own_y)
    yield Step(
        says=f"Spearman: correlate the ranks. Their mean is {mean}; sum the products of the distances from it.",
        formula=rf"\rho = \frac{{\sum (R_x - {_board.number(mean)})(R_y - {_board.number(mean)})}}"
        rf"{{\sqrt{{\sum (R_x - {_board.number(mean)})^2 \sum (R_y - {_board.number(mean)})^2}}}} = "
        rf"\frac{{{_board.number(both)}}}{{\sqrt{{{_board.number(own_x)} \cdot {_board.number(own_y)}}}}} = "
        rf"{_board.number(rho)}",
        value=rho,
    )
    squares = sum((a - b) ** 2 for a, b in zip(x, y, strict=True))
    count = len(x)
    short = 1 - 6 * squares / Fraction(count * (count**2 - 1))
    agreed = "the same, as it must be without ties" if short == rho else "not the same, as it holds only without ties"
    yield Step(
        says=f"The short formula with the squared rank differences gives {float(short):.6g}: {agreed}.",
        formula=rf"1 - \frac{{6 \sum d^2}}{{n (n^2 - 1)}} = 1 - \frac{{6 \cdot {_board.number(Fraction(squares))}}}"
        rf"{{{count} \cdot {count**2 - 1}}} = {_board.number(short)}",
        value=short,
    )
    return rho


def _kendall_steps(question: Question) -> Generator[Step, None, Fraction | float]:
    signs = [
        (_sign(x2 - x1), _sign(y2 - y1))
        for (x1, y1), (x2, y2) in combinations(zip(question.proxy, question.accuracy, strict=True), 2)
    ]
    same = sum(a * b > 0 for a, b in signs)
    opposite = sum(a * b < 0 for a, b in signs)
    tied_x, tied_y = sum(a == 0 != b for a, b in signs), sum(b == 0 != a for a, b in signs)
    tau = (same - opposite) / root((same + opposite + tied_x) * (same + opposite + tied_y))
    yield Step(
        says=f"Kendall: look at all {len(signs)} pairs of networks. Proxy and accuracy put {same} in the same order "
        f"and {opposite} in the opposite one; tied in the proxy only: {tied_x}, in the accuracy only: {tied_y}.",
        formula=rf"\tau_b = \frac{{P - Q}}{{\sqrt{{(P + Q + T_x)(P + Q + T_y)}}}} = \frac{{{same} - {opposite}}}"
        rf"{{\sqrt{{{same + opposite + tied_x} \cdot {same + opposite + tied_y}}}}} = {_board.number(tau)}",
        value=tau,
    )
    yield Step(
        says=f"Read it as a bet: of two networks that differ in both, the proxy picks the better one in {same} of "
        f"{same + opposite} cases. 1 is the same ranking, -1 the reverse, 0 no relation.",
        value=Fraction(same, same + opposite) if same + opposite else None,
    )
    return tau


def _sign(value: Fraction) -> int:
    return (value > 0) - (value < 0)
