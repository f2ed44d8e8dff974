"""The stages of a search: candidates, features, short trainings, surrogate, finalists.

Every choice depends on (settings, seed, data) and on accuracies, which depend on nothing else; where --hours
limits the search, a choice also depends on the clock and is recorded before it is acted upon.
"""

from collections.abc import Generator, Mapping, Sequence
from contextlib import closing

import numpy as np

from vitruvius.core.counted import counted
from vitruvius.core.errors import WorkFailed
from vitruvius.core.records import Note, Progress, Record
from vitruvius.ranking import score, surrogate
from vitruvius.searching import latency, plan, promotion, queueing, spending
from vitruvius.searching.plan import Rung
from vitruvius.searching.prepare import PRESET
from vitruvius.searching.results import Chosen, Learned, Stage
from vitruvius.searching.state import Floats, Search
from vitruvius.searching.study import Request

PROXIES = ("dss", "synflow", "snip", "grad_norm", "naswot", "zico", "az_expressivity", "head_confidence")
"""Features beside structure; none of them judges."""
BATCH = 64
"""Images of the minibatch on which networks are scored, at most."""
SCORING = 0.1
"""The share of --hours in which networks are scored, unless --scored says how many. Without it, scoring four
networks for each short training of 97 steps, with images of 64 pixels, took 10 of 45 minutes."""
FEWEST = 20
"""Networks that are scored whatever time it takes, if so many are to be trained."""
SCORED = "scored"
Stages = Generator[Record, None, list[int]]
Steps = Generator[Record, None, None]


def run(search: Search) -> Generator[Record, None, tuple[list[int], dict[str, int]]]:
    """Run all stages; return the finalists, and the networks to compare with by what they are."""
    prepared, drawn = search.prepared, search.prepared.drawn
    text = f"candidates: {drawn.fitting:,} of {drawn.tried:,} networks of the space {prepared.space} fit"
    yield _stage(search, 1, text, spending.time_left(search))
    if PRESET in prepared.networks and spending.is_too_dear(search, PRESET):
        times = spending.relative_price(search, PRESET)
        about = (
            f"{prepared.name(PRESET)}, the nearest preset, computes {times:,.0f} times as much as the median"
        )
        yield Note(text=f"{about} candidate: the search is not compared with it")
    yield from latency.keep_fast(search)
    text = f"features: structure and {len(PROXIES)} scores of {counted(len(search.numbers), 'network')}"
    yield _stage(search, 2, text, spending.time_left(search))
    yield from score_networks(search)
    if search.plan.rungs:
        finalists = yield from _halving(search)
    else:
        prior = search.prior
        if search.plan.baselines and len(prior) > 1:  # the largest is trained anyway, and may win
            del prior[search.prepared.largest]
        finalists = promotion.promoted(prior, search.plan.finalists, search.prices())
        yield Note(text="the budget pays for a few full trainings only: the prior has chosen the networks")
    baselines = spending.baselines(search)
    if prepared.config.hours is not None:
        finalists, baselines = yield from _in_time(search, finalists, baselines)
    numbers = list(dict.fromkeys([*finalists, *baselines.values()]))
    others = len(numbers) - len(finalists)
    text = f"finalists: {len(finalists)}, and {others} more to compare with, trained fully with two seeds"
    yield _stage(search, 5, text, search.seconds_left(spending.steps_left(search, numbers)))
    requests = [Request(number, search.plan.steps, seed) for seed in range(plan.SEEDS) for number in numbers]
    yield from queueing.train(search, requests)
    return finalists, baselines


def score_networks(search: Search) -> Generator[Record, None, None]:
    """Compute the scores of all networks, those that the run folder does not hold yet.

    With --hours a tenth of them may pass; networks that are not scored by then are left out, the first few
    aside.
    """
    prepared, config = search.prepared, search.prepared.config
    kept = _kept_choice(search, SCORED)
    if kept is not None:
        prepared.keep_only(kept)
    is_limited = kept is None and config.hours is not None and config.scored is None
    stages = [line for line in search.lines if line.get("kind") == "stage" and line.get("stage") == 2]
    began = stages[0]["timing"]["spent"] if stages else search.spent
    scoring = _scoring(search)
    done = score.read(search.lines, scoring)
    with closing(score.score_all(scoring, dict(done), config.spread, config.workers)) as found:
        for record in found:
            search.folder.keep(record)
            done[record.key] = record
            yield Progress(done=len(done), total=len(scoring.tasks), label="scoring")
            queueing.refuse_if_stopped(search)
            is_late = is_limited and search.spent - began > SCORING * 3600 * (config.hours or 0.0)
            if is_late and len(done) >= min(FEWEST, search.plan.short):
                break
    if is_limited:
        drawn = len(search.numbers)
        scored = [number for number, key in zip(search.numbers, scoring.tasks, strict=True) if key in done]
        prepared.keep_only((yield from _choose(search, SCORED, scored)))
        scoring = _scoring(search)
        if len(scored) < drawn:
            left = f"{drawn - len(scored):,} of {counted(drawn, 'network')}"
            yield Note(text=f"{SCORING:.0%} of the hours are over: {left} are not scored, and left out")
    table = score.score_table(scoring, done)
    for name, rows in table.items():
        values = [row[0].value for row in rows]
        search.scores[name] = np.array([-np.inf if value is None else value for value in values])


def _scoring(search: Search) -> score.Scoring:
    prepared, config = search.prepared, search.prepared.config
    batch = min(BATCH, config.batch, len(prepared.data.train))  # what fits into memory is checked for --batch
    shared = score.Shared(score.locate_proxies(PROXIES), {0: score.minibatch(prepared.data, batch, 0)})
    return score.Scoring([prepared.networks[number].arch for number in search.numbers], shared)


def _halving(search: Search) -> Stages:
    """Train many networks shortly and the best longer, in rounds while --hours last; return the finalists."""
    first, *later = search.plan.rungs
    short = f"for {first.steps:,} of {search.plan.steps:,} steps"
    text = f"short trainings: {counted(min(first.networks, len(search.numbers)), 'network')} {short}"
    yield _stage(search, 3, text, spending.time_left(search))
    # For each rung the networks that are trained as far, or further.
    levels: list[list[int]] = [[] for _ in search.plan.rungs]
    half = -(-first.networks // 2)
    for step, count in (("first half", half), ("second half", first.networks - half)):
        chosen = yield from _choose(search, step, _next(search, levels, step, count, least=1))
        yield from queueing.train(search, [Request(number, first.steps) for number in chosen])
        levels[0] += chosen
    yield from _promote(search, levels, later, "")
    round_ = 2
    while search.prepared.config.hours is not None:
        step = f"round {round_}"
        more = yield from _choose(search, step, _next(search, levels, step, len(levels[0])))
        if not more:
            break
        text = f"{step}: {counted(len(more), 'network')} more {short}"
        yield _stage(search, 3, text, spending.time_left(search))
        yield from queueing.train(search, [Request(number, first.steps) for number in more])
        levels[0] += more
        yield from _promote(search, levels, later, f", {step}")
        round_ += 1
    promoted = _best(search, levels, len(levels), search.plan.finalists)
    finalists = yield from _choose(search, "finalists", promoted)
    rest = search.seconds_left(
        spending.steps_left(search, [*finalists, *spending.baselines(search).values()])
    )
    yield _stage(search, 4, f"surrogate: {len(finalists)} go on. {_learned(search)}", rest)
    return finalists


def _promote(search: Search, levels: list[list[int]], later: Sequence[Rung], round_: str) -> Steps:
    """Train the best networks of each rung up to the next one."""
    for index, rung in enumerate(later, 1):
        count = max(rung.networks, len(levels[0]) // plan.FACTOR**index)
        if search.prepared.config.hours is not None and len(levels[0]) == len(search.numbers):
            count = len(levels[index - 1])  # no further round: as many as the time pays for
        promoted = _best(search, levels, index, count)
        promoted = yield from _choose(search, f"for {rung.steps:,} steps{round_}", promoted)
        text = f"surrogate: {len(promoted)} go on. {_learned(search)}"
        yield _stage(search, 4, text, spending.time_left(search))
        yield from queueing.train(search, [Request(number, rung.steps) for number in promoted])
        levels[index] += [number for number in promoted if number not in levels[index]]


def _best(search: Search, levels: list[list[int]], index: int, count: int) -> list[int]:
    """Return the networks of a rung that go on to the next, number `index`, or to the end.

    With --hours, as many finalists as the time pays for.
    """
    scores = _posterior(search, levels[index - 1], [rung.steps for rung in search.plan.rungs[:index]])
    if search.prepared.config.hours is not None and index == len(levels):
        count = len(scores)
    best = promotion.promoted(scores, count, search.prices(), search.prior)
    return spending.paid_for(search, levels, best, index, least=1)


def _learned(search: Search) -> str:
    return search.learned[-1].sentence if search.learned else "by accuracy"


def _choose(search: Search, step: str, numbers: list[int]) -> Stages:
    """Keep a choice, or take the one that was kept before the search was interrupted."""
    kept = _kept_choice(search, step)
    if kept is not None:
        return kept
    record = Chosen(step=step, networks=tuple(numbers))
    search.folder.keep(record)
    yield record
    return numbers


def _kept_choice(search: Search, step: str) -> list[int] | None:
    for line in search.lines:
        if line.get("kind") == "chosen" and line.get("step") == step:
            return list(line["networks"])
    return None


def _next(search: Search, levels: list[list[int]], step: str, count: int, least: int = 0) -> list[int]:
    """Choose networks for short trainings by what others have taught, or by the prior if that knows more.

    None where the time pays for so few that none of them would go on, unless `least` are wanted.
    """
    chosen, steps = levels[0], search.plan.rungs[0].steps
    known = _known(search, steps, chosen)
    fit = _fit(search, search.numbers, known, [], step) if chosen else None
    if fit is None or not fit.is_better:
        wanted = [search.prepared.largest]
        found = promotion.first(search.prior, count, known, chosen, wanted, search.prices())
    else:
        predicted = dict(zip(search.numbers, fit.prediction_n.tolist(), strict=True))
        left = {number: value for number, value in predicted.items() if number not in chosen}
        found = promotion.promoted(left, count, search.prices())
    paid = spending.paid_for(search, levels, found, 0, least)
    return paid if least or len(paid) >= min(plan.FACTOR, len(found)) else []


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


def _in_time(
    search: Search, finalists: list[int], baselines: dict[str, int]
) -> Generator[Record, None, tuple[list[int], dict[str, int]]]:
    """Leave out what the hours no longer pay for: the networks to compare with, then the last finalists."""
    left = 3600 * (search.prepared.config.hours or 0.0) - search.spent

    def needed() -> float:
        return search.seconds_left(spending.steps_left(search, [*finalists, *baselines.values()]))

    finalists, baselines = list(finalists), dict(baselines)
    while needed() > left and (len(baselines) > 1 or len(finalists) > 1):
        if len(baselines) > 1:
            baselines.popitem()
        else:
            finalists.pop()
    kept = yield from _choose(search, "in time", finalists)
    count = yield from _choose(search, "compared in time", list(range(len(baselines))))
    named = list(spending.comparable(search).items())
    return kept, dict(named[index] for index in count)


def _stage(search: Search, number: int, text: str, left: float) -> Stage:
    stage = Stage(stage=number, text=text, timing={"left": round(left, 1), "spent": round(search.spent, 1)})
    search.folder.keep(stage)
    return stage
