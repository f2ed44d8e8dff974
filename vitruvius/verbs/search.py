"""Search the best Vision Transformer for your images within a budget, by short trainings that are continued.

Networks within the budget are drawn from a space; many are trained for an eighth, a quarter of these for
half, the finalists fully with two seeds; with --hours in rounds until the time is spent. Said first: the
recommended network, and what is gained over the largest network that fits. The winner is a run that predict
and export take.

vitruvius search --data mnist --max-params 100000
vitruvius search --data fashion_mnist:mini --max-params 100000 --trainings 20 --spread processes --name shoes
vitruvius search --data mnist --max-params 50000 --front macs --trainings 12
vitruvius search --resume shoes
"""

from collections.abc import Iterator

from vitruvius.core import records, runs, signals
from vitruvius.core.config import Flags
from vitruvius.core.counted import counted
from vitruvius.searching.settings import Config as Config


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Search, keep the winner as a run, write the run folder; a finished search is shown again."""
    from vitruvius.searching import prepare, session

    prepared = None
    if flags.resume is None:  # what cannot be searched is refused before there is a run folder
        yield from config.decode()
        prepared = prepare.prepare(config, flags)
    with runs.opened("search", config, flags) as (folder, config), signals.on_signals() as stop:
        if prepared is None:
            finished = session.finished(folder)
            if finished is not None:
                yield finished
                return
            yield from config.decode()
            prepared = session.resumed(folder, config, flags)
        if (warmup := prepared.config.warmup) < config.warmup:
            why = f"half of the shortest trainings instead of {config.warmup:,}"
            yield records.Note(text=f"the learning rate rises for {counted(warmup, 'step')}, {why}")
        yield from session.run(folder, prepared, flags, stop)
