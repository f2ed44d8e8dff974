"""Rank Vision Transformers without training them, and say how far the ranking can be trusted.

Every network is scored at initialisation by one forward and one backward pass of one minibatch. Where test
accuracies are known, they are read after the last score is on disk and evaluate the scores, beside plain
counting of parameters.

vitruvius rank
vitruvius rank --proxies all --spread processes
vitruvius rank --archs nets.json --data noise:3x32x32 --batch 8 --accuracy c100_kd_acc
vitruvius rank --archs nets.json --known half_acc --proxies snip,synflow,dss,zico
vitruvius rank --archs ./mine.py:models --proxies grad_norm,./mine.py:size --data cifar --name mine
"""

import time
from collections.abc import Iterator

from vitruvius.core import records, runs, signals
from vitruvius.core.config import Flags
from vitruvius.ranking.settings import Config as Config


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Score, evaluate the scores, write the run folder; the result of a finished run is shown again."""
    from vitruvius.ranking import session

    began = time.monotonic()
    flags = session.continue_named(config, flags)
    prepared = session.prepare(config) if flags.resume is None else None  # faults leave no folder behind
    with runs.opened("rank", config, flags) as (folder, config), signals.on_signals() as stop:
        if prepared is None:
            finished = session.finished(folder, config)
            if finished is not None:
                yield finished
                return
            prepared = session.prepare(config)
        done = yield from session.score_rest(folder, config, prepared.scoring, stop)
        yield session.finish(folder, config, prepared, done, began)
