"""The stages of a search: candidates, features, short trainings, surrogate, finalists.

Every choice depends on (settings, seed, data) and on accuracies, which depend on nothing else; where --hours
limits the search, a choice also depends on the clock and is recorded before it is acted upon.
"""

from collections.abc import Generator, Mapping, Sequence
from itertools import product

import numpy as np

from vitruvius.core.counted import counted
from vitruvius.core.errors import WorkFailed
from vitruvius.core.records import Note, Progress, Record
from vitruvius.ranking import score, surrogate
from vitruvius.searching import latency, plan, promotion, queueing
from vitruvius.searching.plan import Rung
from vitruvius.searching.prepare import PRESET
from vitruvius.searching.results import Chosen, Learned, Stage
from vitruvius.searching.state import Floats, Search
from vitruvius.searching.study import Request

PROXIES = ("dss", "synflow", "snip", "grad_norm", "naswot", "zico", "az_expressivity", "head_confidence")
"""Features beside structure; none of them judges."""
BATCH = 64
"""Images of the minibatch on which networks are scored, at most."""
Stages = Generator[Record, None, list[int]]


def run(search: Search) -> Generator[Record, None, tuple[list[int], dict[str, int]]]:
    """Run all stages; return the finalists, and the networks to compare with by what they are."""
    prepared, drawn = search.prepared, search.prepared.drawn
    text = f"candidates: {drawn.fitting:,} of {drawn.tried:,} networks of the space {prepared.space} fit"
    yield _stage(search, 1, text, _planned(search))
    yield from latency.keep_fast(search)
    text = f"features: structure and {len(PROXIES)} scores of {counted(len(search.numbers), 'network')}"
    yield _stage(search, 2, text, _planned(search))
    yield from score_networks(search)
    if search.plan.rungs:
        finalists = yield from _halving(search)
    else:
        prior = search.prior
        if search.plan.baselines and len(prior) > 1:  # the largest is trained anyway, and may win
            del prior[search.prepared.largest]
        finalists = promotion.promoted(prior, search.plan.finalists, search.prices())
        yield Note(text="the budget pays for a few full trainings only: the prior has chosen the networks")
    baselines = _baselines(search)
    if prepared.config.hours is not None:
        finalists, baselines = yield from _in_time(search, finalists, baselines)
    numbers = list(dict.fromkeys([*finalists, *baselines.values()]))
    others = len(numbers) - len(finalists)
    text = f"finalists: {len(finalists)}, and {others} more to compare with, trained fully with two seeds"
    yield _stage(search, 5, text, search.seconds_left(_rest(search, numbers)))
    requests = [Request(number, search.plan.steps, seed) for seed in range(plan.SEEDS) for number in numbers]
    yield from queueing.train(search, requests)
    return finalists, baselines


def score_networks(search: Search) -> Generator[Record, None, None]:
    """Compute the scores of all networks, those that the run folder does not hold yet."""
    prepared, config = search.prepared, search.prepared.config
    archs = [prepared.networks[number].arch for number in search.numbers]
    batch = min(BATCH, config.batch, len(prepared.data.train))  # what fits into memory is checked for --batch
    minibatch = score.minibatch(prepared.data, batch, 0)
    scoring = score.Scoring(archs, score.Shared(score.locate_proxies(PROXIES), {0: minibatch}))
    done = score.read(search.lines, scoring)
    for record in score.score_all(scoring, dict(done), config.spread, config.workers):
        search.folder.keep(record)
        done[record.key] = record
        yield Progress(done=len(done), total=len(scoring.tasks), label="scoring")
        queueing.refuse_if_stopped(search)
    table = score.score_table(scoring, done)
    for name, rows in table.items():
        values = [row[0].value for row in rows]
        search.scores[name] = np.array([-np.inf if value is None else value for value in values])


def _halving(search: Search) -> Stages:
    """Train many networks shortly, and the best of them longer; return the finalists."""
    first, *later = search.plan.rungs
    steps = first.steps
    text = (
        f"short trainings: {counted(first.networks, 'network')} for {steps:,} of {search.plan.steps:,} steps"
    )
    yield _stage(search, 3, text, _planned(search))
    half = -(-first.networks // 2)
    chosen = yield from _choose(search, "first half", _by_prior(search, {}, [], half), "by the prior")
    yield from queueing.train(search, [Request(number, steps) for number in chosen])
    more = _second_half(search, chosen, first)
    chosen += yield from _choose(search, "second half", more, "")
    yield from queueing.train(search, [Request(number, steps) for number in chosen])
    reached = [steps]
    for rung in [*later, None]:
        count = search.plan.finalists if rung is None else rung.networks
        steps = search.plan.steps if rung is None else rung.steps
        scores = _posterior(search, chosen, reached)
        most = _affordable(search, count)
        promoted = promotion.promoted(scores, most, search.prices(), search.prior)
        name = f"for {steps:,} steps" if rung else "finalists"
        promoted = yield from _choose(search, name, promoted, "")
        said = search.learned[-1].sentence if search.learned else "by accuracy"
        last = [*promoted, *_baselines(search).values()]
        left = _planned(search) if rung else search.seconds_left(_rest(search, last))
        yield _stage(search, 4, f"surrogate: {len(promoted)} go on. {said}", left)
        if rung is None:
            return promoted
        yield from queueing.train(search, [Request(number, steps) for number in promoted])
        reached.append(steps)
    raise AssertionError("the last rung is the finalists'")


def _choose(search: Search, step: str, numbers: list[int], why: str) -> Stages:
    """Keep a choice, or take the one that was kept before the search was interrupted."""
    for line in search.lines:
        if line.get("kind") == "chosen" and line.get("step") == step:
            return list(line["networks"])
    record = Chosen(step=step, networks=tuple(numbers), why=why)
    search.folder.keep(record)
    yield record
    return numbers


def _by_prior(search: Search, known: Mapping[int, float], chosen: Sequence[int], count: int) -> list[int]:
    """Choose by the prior, the largest network that fits first."""
    return promotion.first(search.prior, count, known, chosen, [search.prepared.largest], search.prices())


def _second_half(search: Search, chosen: list[int], rung: Rung) -> list[int]:
    """Choose further networks by what the first half has taught, or by the prior if that is no better."""
    count = max(0, _affordable(search, rung.networks) - len(chosen))
    known = _known(search, rung.steps, chosen)
    fit = _fit(search, search.numbers, known, [], "second half")
    if fit is None or not fit.is_better:
        return _by_prior(search, known, chosen, count)
    predicted = dict(zip(search.numbers, fit.prediction_n.tolist(), strict=True))
    left = {number: value for number, value in predicted.items() if number not in chosen}
    return promotion.promoted(left, count, search.prices())


def _posterior(search: Search, chosen: list[int], reached: list[int]) -> dict[int, float]:
    """Return what is expected of each network: its accuracy, drawn towards the prediction by its noise."""
    *shorter, steps = reached
    known = _known(search, steps, chosen)
    earlier = [queueing.accuracies(search, length) for length in shorter]
    inside = [number for number in chosen if all(number in found for found in earlier)]
    if not known:
        raise WorkFailed(f"every training failed: {queueing.first_failure(search)}")
    pool = search.numbers if not shorter else inside
    fit = _fit(search, pool, known, shorter, f"after {steps:,} steps")
    if fit is None or not fit.is_better:
        return {number: known[number] for number in chosen if number in known}
    images, failed = len(search.prepared.data.validation), queueing.failed(search)
    found = {}
    for number, prediction in zip(pool, fit.prediction_n.tolist(), strict=True):
        if number in known:
            noise = known[number] * (1 - known[number]) / images
            trust = max(fit.error**2 - noise, 0.0) / max(fit.error**2, 1e-12)
            found[number] = trust * known[number] + (1 - trust) * prediction
        elif number in chosen and number not in failed:
            found[number] = prediction
    return found


def _fit(
    search: Search, pool: Sequence[int], known: Mapping[int, float], shorter: Sequence[int], step: str
) -> surrogate.Fit | None:
    """Fit known accuracies by structure, scores and accuracies after fewer steps; keep what is learned."""
    index_of = {number: index for index, number in enumerate(search.numbers)}
    rows = [index_of[number] for number in pool]
    scores = {name: values[rows] for name, values in search.scores.items()}
    archs = [search.prepared.networks[number].arch for number in pool]
    features: dict[str, dict[str, Floats]] = dict(surrogate.groups(archs, scores))
    for length in shorter:
        found = queueing.accuracies(search, length)
        features[f"after {length}"] = {f"accuracy after {length:,}": np.array([found[n] for n in pool])}
    accuracy = np.array([known.get(number, np.nan) for number in pool])
    params = np.array([float(search.prepared.networks[number].params) for number in pool])
    fit = surrogate.fit(surrogate.prior(scores), features, accuracy, params)
    learned = Learned(step=step, labels=int(np.isfinite(accuracy).sum()))
    if fit is not None and fit.labels >= surrogate.FEWEST:
        weights = {name: round(100 * weight, 4) for name, weight in fit.weights.items()}
        about = {"tau": fit.tau, "counting": fit.counting, "used": fit.is_better, "weights": weights}
        learned = learned.model_copy(update=about)
    search.learned.append(learned)
    return fit


def _known(search: Search, steps: int, chosen: Sequence[int]) -> dict[int, float]:
    """Return the accuracies of the chosen networks alone: a resumed search may know later ones."""
    found = queueing.accuracies(search, steps)
    return {number: found[number] for number in chosen if number in found}


def _baselines(search: Search) -> dict[str, int]:
    """Return networks to compare with: the largest that fits, the nearest preset, the median candidate."""
    found = {"the largest network that fits": search.prepared.largest}
    if PRESET in search.prepared.networks:
        found["the nearest preset"] = PRESET
    known = queueing.accuracies(search, search.plan.rungs[0].steps) if search.plan.rungs else search.prior
    ordered = sorted(known, key=lambda number: (known[number], number))
    if ordered:
        found["the median candidate"] = ordered[(len(ordered) - 1) // 2]
    return dict(list(found.items())[: search.plan.baselines])


def _affordable(search: Search, count: int) -> int:
    """Return how many of `count` networks the time pays for, if --hours limits the search."""
    hours = search.prepared.config.hours
    if hours is None:
        return count
    rest = _planned(search)
    left = 3600 * hours - search.spent
    return max(1, int(count * min(1.0, max(0.0, left / rest)))) if rest > 0 else count


def _in_time(
    search: Search, finalists: list[int], baselines: dict[str, int]
) -> Generator[Record, None, tuple[list[int], dict[str, int]]]:
    """Leave out what the hours no longer pay for: the networks to compare with, then the last finalists."""
    left = 3600 * (search.prepared.config.hours or 0.0) - search.spent

    def needed() -> float:
        return search.seconds_left(_rest(search, [*finalists, *baselines.values()]))

    finalists, baselines = list(finalists), dict(baselines)
    while needed() > left and (len(baselines) > 1 or len(finalists) > 1):
        if len(baselines) > 1:
            baselines.popitem()
        else:
            finalists.pop()
    kept = yield from _choose(search, "in time", finalists, "")
    names = list(baselines)
    count = yield from _choose(search, "compared in time", list(range(len(names))), "")
    return kept, {name: baselines[name] for name in names if names.index(name) in count}


def _planned(search: Search) -> float:
    """Return the seconds of the whole plan that are not spent yet, by the mean network."""
    total = max(0, search.plan.total_steps - sum(queueing.steps_done(search).values()))
    numbers = search.numbers
    return search.seconds_left([(number, 1) for number in numbers]) * total / len(numbers)


def _rest(search: Search, numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return the steps that full trainings of these networks with two seeds still need."""
    done = queueing.steps_done(search)
    trainings = product(dict.fromkeys(numbers), range(plan.SEEDS))
    return [(number, max(0, search.plan.steps - done.get((number, seed), 0))) for number, seed in trainings]


def _stage(search: Search, number: int, text: str, left: float) -> Stage:
    stage = Stage(stage=number, text=text, timing={"left": round(left, 1), "spent": round(search.spent, 1)})
    search.folder.keep(stage)
    return stage
