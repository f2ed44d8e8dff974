"""Rank the candidates by each score, and evaluate the scores by known accuracies, beside plain counting.

A score is compared with the best of the counts (parameters, multiply-adds, depth, widths; where a count ties,
parameters decide), by the size of tau: counts may order backwards too. The comparisons hold together (max-T).

Shapes: n networks, S seeds, R resamples. A failed score is -inf; an unknown accuracy or size is NaN.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core.records import Score
from vitruvius.measuring import prices
from vitruvius.ranking import seeds, statistics
from vitruvius.ranking.evaluation import STRUCTURAL, Evaluation, Interval
from vitruvius.ranking.results import Candidate, MeanScore
from vitruvius.ranking.score import Network, ScoreTable
from vitruvius.ranking.statistics import Floats

BEATS = "beats counting"
NO_BETTER = "no better than counting"
BACKWARDS = "orders backwards: higher scores are worse"
NO_SIGNAL = "no signal: the interval contains 0"
CONSTANT = "no signal: all scores are equal"
EQUAL = "no signal: all accuracies are equal"
UNKNOWN = "not judged: fewer than three accuracies are known"
COUNT = "a count"
BEST_COUNT = "the best count"
FEWEST = 3
Evaluations = dict[str, Evaluation]  # by score
Accuracies = Mapping[str, Sequence[float | None]]  # by column
LARGEST = 4_000
"""The bootstrap looks at every pair: of more networks, a random sample of this many is evaluated."""


class Sizes(NamedTuple):
    """Parameters and depths of the networks, (n,) each; NaN where they could not be counted."""

    params: Floats
    depth: Floats

    def part(self, chosen: Sequence[int]) -> "Sizes":
        """Return the sizes of some of the networks."""
        return Sizes(self.params[chosen], self.depth[chosen])


def matrix(rows: Sequence[Sequence[Score]]) -> Floats:
    """Return scores as an array (n, S); a network whose score failed for one seed is -inf for all of them."""
    values = np.array([[-np.inf if score.value is None else score.value for score in row] for row in rows])
    values[np.isinf(values).any(1)] = -np.inf
    return values


def candidates(
    names: Sequence[str],
    networks: Sequence[Network],
    table: ScoreTable,
    accuracies: Accuracies,
    peaks: Sequence[int | None] = (),
) -> list[Candidate]:
    """Return each network with its size, mean scores, ranks and accuracies, in the given order."""
    scores_by_proxy = {proxy: matrix(rows) for proxy, rows in table.items()}
    behind = {proxy: -seeds.order(scores_nS) for proxy, scores_nS in scores_by_proxy.items()}
    # A rank is one more than the number of better scores.
    ranks = {proxy: 1 + np.searchsorted(np.sort(values_n), values_n) for proxy, values_n in behind.items()}
    means = {proxy: seeds.centre(scores_nS) for proxy, scores_nS in scores_by_proxy.items()}
    found = []
    for index, (name, network) in enumerate(zip(names, networks, strict=True)):
        scores = {proxy: _mean_score(rows[index], means[proxy][index]) for proxy, rows in table.items()}
        rank = {proxy: int(ranks_n[index]) for proxy, ranks_n in ranks.items()}
        accuracy = {column: values[index] for column, values in accuracies.items()}
        fields: dict[str, Any] = {"scores": scores, "rank": rank, "accuracy": accuracy}
        fields["peak_bytes"] = peaks[index] if peaks else None
        found.append(Candidate(name=name, **_size(network, scores), **fields))
    return found


def in_order(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Sort the candidates by their rank in the first score."""
    return tuple(sorted(candidates, key=lambda candidate: next(iter(candidate.rank.values()))))


def best(names: Sequence[str], rows: Sequence[Sequence[Score]]) -> tuple[str, ...]:
    """Return the names of the best network and of those that cannot be told apart from it."""
    return tuple(names[index] for index in seeds.tied_with_best(matrix(rows)))


def evaluate(table: ScoreTable, candidates: Sequence[Candidate], column: str, seed: int = 0) -> Evaluations:
    """Evaluate each score by a column of accuracies."""
    scores = {proxy: matrix(rows) for proxy, rows in table.items()}
    accuracies = [candidate.accuracy[column] for candidate in candidates]
    sizes = np.array([(candidate.params, candidate.depth) for candidate in candidates], dtype=float)
    return evaluate_scores(scores, Sizes(*sizes.T), accuracies, seed)


def evaluate_scores(
    scores: Mapping[str, Floats], sizes: Sizes, accuracies: Sequence[float | None], seed: int = 0
) -> Evaluations:
    """Evaluate scores (n, S); all share the same resamples, so that their differences are paired."""
    known = _sample([accuracy is not None for accuracy in accuracies], seed)
    if len(known) < FEWEST:
        part = _sample([True] * len(sizes.params), seed)
        sizes = sizes.part(part)
        found = {proxy: _without_accuracies(scores_nS[part], sizes) for proxy, scores_nS in scores.items()}
        return {proxy: Evaluation(**fields, verdict=UNKNOWN, archs=0) for proxy, fields in found.items()}
    accuracy_n = np.array([accuracies[index] for index in known], dtype=float)
    judged, sizes = {proxy: scores_nS[known] for proxy, scores_nS in scores.items()}, sizes.part(known)
    weights_Rn = statistics.resamples(len(known), seed)
    evaluated = {name: _evaluation(one, accuracy_n, sizes, weights_Rn) for name, one in judged.items()}
    return _judged(evaluated, judged, accuracy_n, sizes, weights_Rn)


def verdict(tau: Interval, gain: Interval) -> str:
    """Say whether a score carries a signal, and whether it beats the best count.

    `gain` is the difference between the sizes of both taus. A score that orders backwards beats nothing.
    """
    if tau.low is None or tau.high is None:
        return CONSTANT
    if tau.low <= 0 <= tau.high:
        return NO_SIGNAL
    if tau.high < 0:
        return BACKWARDS
    return BEATS if gain.low is not None and gain.low > 0 else NO_BETTER


def _judged(
    evaluated: Evaluations,
    scores: Mapping[str, Floats],
    accuracy_n: Floats,
    sizes: Sizes,
    weights_Rn: Floats,
) -> Evaluations:
    """Compare every score with the best count, all at once."""
    counts = {
        name: statistics.kendall(c, accuracy_n, weights_Rn) for name, c in _counts(scores, sizes).items()
    }
    strengths = {name: _oriented(tau_R) for name, tau_R in counts.items()}
    best_count = max(strengths, key=lambda name: float(strengths[name][0]))
    proxies = [name for name in evaluated if name not in STRUCTURAL]
    compared = [name for name in proxies if evaluated[name].kendall.low is not None]
    gains: dict[str, Interval] = {}
    if compared:
        taus = (statistics.kendall(seeds.order(scores[name]), accuracy_n, weights_Rn) for name in compared)
        gain_kR = np.array([_oriented(tau_R) - strengths[best_count] for tau_R in taus])
        gains = dict(zip(compared, statistics.simultaneous(gain_kR), strict=True))
    found = {}
    for name, one in evaluated.items():
        gain = gains.get(name, Interval())
        word = verdict(one.kendall, gain)
        if name in STRUCTURAL:
            word = BEST_COUNT if name == best_count else COUNT
        word = word if np.ptp(accuracy_n) else EQUAL
        found[name] = one.model_copy(update={"verdict": word, "gain": gain, "best_count": best_count})
    return found


def _counts(scores: Mapping[str, Floats], sizes: Sizes) -> dict[str, Floats]:
    """Return what the structural scores count; where networks tie, their parameters decide."""
    params_n = statistics.dense_ranks(_ranked_last(sizes.params))
    found: dict[str, Floats] = {"params": params_n.astype(float)}
    for name in (name for name in STRUCTURAL if name in scores):
        ranks_n = statistics.dense_ranks(scores[name][:, 0])
        found[name] = np.asarray(ranks_n * len(params_n) + params_n, dtype=float)
    return found


def _oriented(tau_R: Floats) -> Floats:
    """Return tau with the sign with which it orders the sample; among constants it is 0."""
    known_R = np.nan_to_num(tau_R)
    return known_R * (np.sign(known_R[0]) or 1.0)


def _evaluation(scores_nS: Floats, accuracy_n: Floats, sizes: Sizes, weights_Rn: Floats) -> Evaluation:
    score_n = seeds.order(scores_nS)
    return Evaluation(
        kendall=statistics.interval(statistics.kendall(score_n, accuracy_n, weights_Rn)),
        spearman=statistics.interval(statistics.spearman(score_n, accuracy_n, weights_Rn)),
        kendall_within_size=statistics.within_size(score_n, accuracy_n, sizes.params, weights_Rn),
        **_without_accuracies(scores_nS, sizes),
        regret_at_1=statistics.regret(score_n, accuracy_n, 1),
        regret_at_5=statistics.regret(score_n, accuracy_n, 5),
        verdict=UNKNOWN,
        archs=len(score_n),
    )


def _without_accuracies(scores_nS: Floats, sizes: Sizes) -> dict[str, float | None]:
    """Return the statistics that need no accuracies: tau with parameters, with depth, and between seeds."""
    score_n = seeds.order(scores_nS)
    return {
        "kendall_with_params": statistics.tau(score_n, _ranked_last(sizes.params)),
        "kendall_with_depth": statistics.tau(score_n, _ranked_last(sizes.depth)),
        "seed_agreement": seeds.agreement(scores_nS),
    }


def _sample(eligible: Sequence[bool], seed: int) -> list[int]:
    """Return the indices of the eligible networks, or of a random sample of very many."""
    found = np.flatnonzero(eligible)
    if len(found) > LARGEST:
        found = np.sort(np.random.default_rng(seed).choice(found, LARGEST, replace=False))
    return found.tolist()


def _ranked_last(size_n: Floats) -> Floats:
    """Replace unknown sizes by -inf, below all known ones."""
    return np.where(np.isnan(size_n), -np.inf, size_n)


def _mean_score(scores: Sequence[Score], mean: float) -> MeanScore:
    values = tuple(score.value for score in scores)
    failed = [(draw, score.failed) for draw, score in enumerate(scores, 1) if score.failed is not None]
    if failed:
        draw, reason = failed[0]
        where = "" if len(failed) == len(scores) else f" (in draw {draw} of {len(scores)})"
        return MeanScore(failed=f"{reason}{where}", values=values)
    std = seeds.standard_deviation(np.array([values], dtype=float))[0] if len(scores) > 1 else None
    return MeanScore(mean=mean, std=std, values=values)


def _size(network: Network, scores: Mapping[str, MeanScore]) -> dict[str, Any]:
    """Return what a network costs: of an Arch in closed form, of other modules as counted."""
    if isinstance(network, Arch):
        found = cost.cost(network)
        sizes = {"params": found.params, "macs": found.macs, "depth": network.depth, "width": network.width}
        return {**sizes, "predicted_ms": prices.predicted_ms(network), "arch": network}
    means = {name: scores[name].mean for name in ("params", "macs", "depth")}
    return {**{name: None if mean is None else round(mean) for name, mean in means.items()}, "width": None}
