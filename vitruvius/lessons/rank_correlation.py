r"""How well a proxy ranks networks: mid-ranks, Spearman's rho and Kendall's tau, ties included.

$\rho$ is the correlation of the ranks; $\tau_b = (P - Q) / \sqrt{(P + Q + T_x)(P + Q + T_y)}$ with $P$
concordant and $Q$ discordant pairs and $T_x$, $T_y$ pairs tied in the one list only."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import Annotated, Any

import numpy as np
from scipy import stats

from vitruvius import lessons
from vitruvius.core.blocks import Scatter
from vitruvius.lessons import Answer, Attempt, Board, Proof, Step, Vector, exact
from vitruvius.lessons._draws import different
from vitruvius.lessons._exact import root
from vitruvius.lessons._figures import numbered
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import arrays
from vitruvius.ranking import statistics

SUBJECT = "zero-cost ranking"
TASK = (
    "How well does a proxy rank networks? Work out the ranks of proxy and accuracy (1 for the "
    "smallest, equal values share the mean of their places), Spearman's rho, and Kendall's tau-b."
)


class Question(lessons.Question):
    """One proxy score and one accuracy per network."""

    limits = {"N": (2, 500)}
    proxy: Annotated[Vector, "N"] = exact((120, 95, 140, 95, 160, 110))
    accuracy: Annotated[Vector, "N"] = exact((0.71, 0.68, 0.74, 0.70, 0.73, 0.66))

    def refuse(self) -> None:
        for field in ("proxy", "accuracy"):
            if len(set(getattr(self, field))) == 1:
                needs = "it needs two different ones to rank by"
                raise ValueError(f"{field} has the same value everywhere: {needs}")


def solve(question: Question) -> Iterator[Step | Answer]:
    """Ranks, their correlation, and the pairs."""
    n, x, y = question.sizes["N"], _mid_ranks(question.proxy), _mid_ranks(question.accuracy)
    board = Board(n=n, proxy=x, accuracy=y, mean=Fraction(n + 1, 2))
    board |= {"x": question.proxy, "y": question.accuracy, "ranks": {"proxy": x, "accuracy": y}}
    board["ties"] = 2 * n - len(set(question.proxy)) - len(set(question.accuracy))
    yield board.step(
        "Write ranks instead of values, 1 for the smallest of <n>. Equal values share the mean of the places "
        "they take together (values that repeat an earlier one: <ties>).",
        r"x = <x>, \quad R_x = <proxy>, \quad y = <y>, \quad R_y = <accuracy>",
        "proxy accuracy",
        Scatter(
            title="Ranks by the proxy and by accuracy",
            x=tuple(map(float, x)),
            y=tuple(map(float, y)),
            names=numbered("net ", n),
            x_label="rank by the proxy",
            y_label="rank by accuracy",
        ),
        "ranks",
    )
    both, own_x, own_y = (
        sum((a - board["mean"]) * (b - board["mean"]) for a, b in zip(left, right, strict=True))
        for left, right in ((x, y), (x, x), (y, y))
    )
    board |= {"both": both, "own_x": own_x, "own_y": own_y, "spearman": both / root(own_x * own_y)}
    yield board.step(
        "Spearman: correlate the ranks. Their mean is <mean>; sum the products of the distances from it.",
        r"\rho = \frac{\sum (R_x - <mean>)(R_y - <mean>)}{\sqrt{\sum (R_x - <mean>)^2 \sum (R_y - "
        r"<mean>)^2}} = \frac{<both>}{\sqrt{<own_x> \cdot <own_y>}} = <spearman>",
    )
    squares, rest = sum((a - b) ** 2 for a, b in zip(x, y, strict=True)), n**2 - 1
    board |= {"squares": squares, "rest": rest, "short": 1 - 6 * squares / Fraction(n * rest)}
    agreed = board["short"] == board["spearman"]
    yield board.step(
        "The short formula with the squared rank differences gives <short:.6g>: "
        + ("the same, as it must be" if agreed else "not the same, as it holds only")
        + " without ties.",
        r"1 - \frac{6 \sum d^2}{n (n^2 - 1)} = 1 - \frac{6 \cdot <squares>}{<n> \cdot <rest>} = <short>",
    )
    yield from _kendall(question, board)
    yield Answer(fields={"ranks": board.pick("proxy accuracy"), **board.pick("spearman kendall")})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Scipy's statistics, Kendall's tau as a correlation of signs, and what `vitruvius rank` computes."""
    x, y = arrays(question.proxy, question.accuracy)
    found = {"proxy": stats.rankdata(x), "accuracy": stats.rankdata(y)}
    yield agree("ranks", "scipy.stats.rankdata", answer["ranks"], found)
    yield agree("spearman", "scipy.stats.spearmanr", answer["spearman"], stats.spearmanr(x, y).statistic)
    yield agree("kendall", "scipy.stats.kendalltau", answer["kendall"], stats.kendalltau(x, y).statistic)
    sign_x, sign_y = (np.sign(values[:, None] - values[None, :]).ravel() for values in (x, y))
    by_signs = sign_x @ sign_y / np.sqrt((sign_x @ sign_x) * (sign_y @ sign_y))
    yield agree("kendall", "cosine of the signs of all differences", answer["kendall"], by_signs)
    once = np.ones((1, len(x)))
    ours = {name: getattr(statistics, name)(x, y, once)[0] for name in ("spearman", "kendall")}
    yield agree("both", "vitruvius.ranking.statistics", answer, ours)


def attempt(question: Question, write: Attempt) -> None:
    """Ranks, Spearman, Kendall."""
    lists = {"proxy": question.proxy, "accuracy": question.accuracy}

    def ranked(method: Any, sign: int = 1) -> dict[str, Any]:
        return {name: stats.rankdata(sign * np.array(v, float), method) for name, v in lists.items()}

    ranks = write(
        "ranks",
        ranked("average"),
        "ranks by the proxy and by accuracy",
        "Which rank do equal values get?",
        r"\text{place in increasing order; equal values: the mean of their places}",
        ordinal=("equal values get different ranks", ranked("ordinal")),
        least=("equal values all get the smallest of their places", ranked("min")),
        reversed=("1 is given to the largest", ranked("average", -1)),
    )
    x, y = (np.array(ranks[name], float) for name in lists)
    n, (proxy, accuracy) = len(x), arrays(*lists.values())
    short = 1 - 6 * ((x - y) ** 2).sum() / (n * (n * n - 1))
    write(
        "spearman",
        np.corrcoef(x, y)[0, 1],
        "Spearman's rho",
        "Which correlation is it, and of what?",
        r"\rho = \frac{\sum (R_x - m)(R_y - m)}{\sqrt{\sum (R_x - m)^2 \sum (R_y - m)^2}}, \; m = (n+1)/2",
        short=("the short formula is used in spite of ties", short),
        values=("the values are correlated, not their ranks", np.corrcoef(proxy, accuracy)[0, 1]),
    )
    pairs = [(x[j] - x[i], y[j] - y[i]) for i, j in combinations(range(n), 2)]
    same, opposite = sum(a * b > 0 for a, b in pairs), sum(a * b < 0 for a, b in pairs)
    in_x, in_y, clear = sum(a != 0 for a, _ in pairs), sum(b != 0 for _, b in pairs), same + opposite
    more = float(same - opposite)
    write(
        "kendall",
        more / (in_x * in_y) ** 0.5,
        "Kendall's tau-b",
        "How many pairs are in the same order, how many in the opposite one, and which are tied?",
        r"\tau_b = \frac{P - Q}{\sqrt{(P + Q + T_x)(P + Q + T_y)}}",
        all_pairs=("all pairs are divided by, tied ones too (tau-a)", more / len(pairs)),
        clear_pairs=("tied pairs are left out of the denominator", more / clear if clear else None),
    )


def draw(random: Random) -> dict[str, Any]:
    """Six networks, two of them with the same score."""
    proxy = [5 * value for value in different(random, 16, 36, 5)]
    proxy.insert(random.randint(0, 4), random.choice(proxy))
    return {"proxy": proxy, "accuracy": [f"0.{value}" for value in different(random, 60, 79, 6)]}


def _kendall(question: Question, board: Board) -> Iterator[Step]:
    pairs = list(combinations(zip(question.proxy, question.accuracy, strict=True), 2))
    differences = [(x2 - x1, y2 - y1) for (x1, y1), (x2, y2) in pairs]
    same, opposite = sum(a * b > 0 for a, b in differences), sum(a * b < 0 for a, b in differences)
    tied_x, tied_y = sum(a == 0 != b for a, b in differences), sum(b == 0 != a for a, b in differences)
    clear = same + opposite
    board |= {"pairs": len(pairs), "same": same, "opposite": opposite, "tied_x": tied_x, "tied_y": tied_y}
    board |= {"clear": clear, "in_x": clear + tied_x, "in_y": clear + tied_y}
    board["kendall"] = (same - opposite) / root(board["in_x"] * board["in_y"])
    yield board.step(
        "Kendall: look at all <pairs> pairs of networks. Proxy and accuracy put <same> in the same order and "
        "<opposite> in the opposite one; tied in the proxy only: <tied_x>, in the accuracy only: <tied_y>.",
        r"\tau_b = \frac{P - Q}{\sqrt{(P + Q + T_x)(P + Q + T_y)}} = \frac{<same> - <opposite>}{\sqrt{<in_x> "
        r"\cdot <in_y>}} = <kendall>",
    )
    yield board.step(
        "Read it as a bet: of two networks that differ in both, the proxy picks the better one in <same> of "
        "<clear> cases. 1 is the same ranking, -1 the reverse, 0 no relation.",
        value=Fraction(same, clear) if clear else None,
    )


def _mid_ranks(values: Vector) -> list[Fraction]:
    """Rank 1 for the smallest; a value that occurs several times takes the mean of its places."""
    ordered = sorted(values)
    return [1 + ordered.index(value) + Fraction(ordered.count(value) - 1, 2) for value in values]
