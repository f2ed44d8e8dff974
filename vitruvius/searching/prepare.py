"""Before anything is trained: data, space, budget and networks of a search; what cannot work is refused."""

import os
import statistics
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from vitruvius import optimisers
from vitruvius.arch import choice, cost, spaces, tables
from vitruvius.arch.arch import Arch
from vitruvius.core import runs
from vitruvius.core.config import Flags
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset
from vitruvius.measuring import prices
from vitruvius.measuring.prices import PriceList
from vitruvius.ranking import spread
from vitruvius.searching import pace, plan, sampling, study, trials
from vitruvius.searching.pace import Pace
from vitruvius.searching.plan import Plan
from vitruvius.searching.sampling import Candidate, Drawn, Limits, Rule
from vitruvius.searching.settings import Budget, Config
from vitruvius.searching.trials import Training
from vitruvius.training import device
from vitruvius.training.batches import require_classes
from vitruvius.training.recipe import ClassifierSettings

PRESET = -1
"""The number of the nearest preset; drawn networks have numbers from 0 on."""
SCORED_PER_TRAINING = 4
ANY = 10**6
"""More networks than any plan trains."""
MEMORY = 0.9
"""Share of the machine's memory that a training step may take."""


@dataclass
class Prepared:
    """A checked request: everything that follows from (settings, seed, data) before the first training."""

    config: Config
    data: Dataset
    space: str
    drawn: Drawn
    networks: dict[int, Candidate]
    """Those that are scored, the largest that fits first, and the nearest preset, by number."""
    largest: int
    preset: str | None
    pace: Pace
    plan: Plan
    environment: dict[str, Any]

    @property
    def training_environment(self) -> dict[str, Any]:
        """Return the environment that a training records: that of the search without Optuna's version."""
        return {key: value for key, value in self.environment.items() if key != "optuna"}

    def name(self, number: int) -> str:
        """Return what a network is called."""
        return (self.preset or "preset") if number == PRESET else f"net-{number}"

    def settings(self, number: int) -> dict[str, Any]:
        """Return the options --arch and --set of a network."""
        return trials.options(self.networks[number].arch, self.preset if number == PRESET else None)

    def fits(self, number: int) -> bool:
        """Whether a network is within the budget; the preset may not be."""
        return number != PRESET or _fits(self.networks[number], self.config)

    def keep_only(self, numbers: Collection[int]) -> None:
        """Leave out all other networks, the preset aside."""
        kept = {PRESET, *numbers}
        self.networks = {number: one for number, one in self.networks.items() if number in kept}


def prepare(config: Config, flags: Flags, planned: Plan | None = None) -> Prepared:
    """Read the data and draw the networks; `planned` is what a resumed search has decided to spend."""
    _refuse_options(config, flags)
    study.require()
    spread.require(config.spread)
    data = config.load()
    require_classes(data)
    if not len(data.validation):
        raise UserError(
            f"{data.name}: networks are compared on validation images, and there are none: --validation N"
        )
    sizes = choice.sizes(data)
    name = spaces.default_for(sizes["image"]) if config.space == "auto" else config.space
    space = spaces.drawable(name, sizes["image"])
    law = ("log-uniform" if config.front else "uniform") if config.sampling == "auto" else config.sampling
    rule = Rule(space, sizes, config.seed, law)
    steps = config.total_steps(len(data.train))
    config = config.model_copy(update={"warmup": min(config.warmup, plan.longest_warmup(steps))})
    found = planned.prices if planned else prices.price_list()
    least = plan.make(config.trainings or plan.DEFAULT, steps, ANY).short

    def draw(short: int) -> tuple[Drawn, dict[int, Candidate]]:
        wanted = config.scored or SCORED_PER_TRAINING * max(short, least)
        drawn = _draw(rule, config, name, wanted, found)
        return drawn, {one.number: one for one in (drawn.largest, *drawn.candidates) if one is not None}

    drawn, networks = draw(planned.short if planned else 0)
    rhythm = _pace(config, data, networks)
    if planned is None:
        trainings: float = config.trainings or plan.DEFAULT
        if config.hours is not None:
            trainings = (
                config.hours * 3600 * workers(config) / _median_seconds(config, rhythm, networks, steps)
            )
            drawn, networks = draw(plan.make(trainings, steps, ANY).short)
        planned = plan.make(trainings, steps, len(drawn.candidates), config.front is not None)
        planned = planned.model_copy(update={"prices": found})
    assert drawn.largest is not None
    preset, arch = _nearest_preset(sizes, drawn.largest)
    if arch is not None:
        price = cost.cost(arch)
        networks[PRESET] = Candidate(PRESET, arch, price.params, price.macs)
    where = device.fingerprint(1, 1, device.choose_device(config.device))
    versions = runs.environment(("torch", "numpy", "safetensors", "optuna"), **where, data_sha256=data.sha256)
    return Prepared(
        config, data, name, drawn, networks, drawn.largest.number, preset, rhythm, planned, versions
    )


def workers(config: Config) -> int:
    """Return how many trainings run at the same time."""
    return 1 if config.spread == "here" else config.workers or os.cpu_count() or 1


def shared_settings(config: Config) -> dict[str, Any]:
    """Return the settings that all trainings share, as `vitruvius train` records them."""
    fields = {
        name: getattr(config, name) for name in ClassifierSettings.model_fields if hasattr(config, name)
    }
    where = device.choose_device(config.device)
    decided = {"device": where.type, "precision": device.choose_precision(config.precision, where)}
    return fields | decided | {"compile": "off", "threads": 1, "workers": 1, "recipe": "plain"}


def _refuse_options(config: Config, flags: Flags) -> None:
    if config.schedule == "cosine":
        raise UserError(
            "--schedule cosine: a training that pauses cannot follow it; choose trapezoid or constant"
        )
    if config.time_limit is not None:
        raise UserError("--time-limit: a search is limited by --hours or --trainings")
    if config.hours is not None and config.trainings is not None:
        raise UserError("--hours and --trainings: say one of them, what may be spent is one quantity")
    if config.storage is not None and "://" not in config.storage:
        raise UserError(f"--storage {config.storage}: a URL is needed, such as postgresql://HOST/DB")
    if config.storage is not None and config.hours is not None:
        raise UserError(
            "--storage: searches that share a study count what they spend together: --trainings, not --hours"
        )
    if config.storage is not None and (config.max_ms is not None or config.front == "ms"):
        raise UserError(
            "--storage: machines that share a study take different times; bound --max-macs, not milliseconds"
        )
    if config.storage is not None and not (flags.name or flags.resume):
        raise UserError("--storage: searches that share a study have the same --name")
    optimisers.get(config.optimiser)


def _draw(rule: Rule, config: Config, name: str, wanted: int, found: PriceList | None) -> Drawn:
    """Draw the networks within the budget and the machine's memory; refuse a budget that none fits."""
    memory = min(config.max_memory or float("inf"), MEMORY * cost.memory_bytes() / 2**20)
    bounds = config.bounds | {"max_memory": memory}
    limits = Limits(Budget(**bounds), -(-config.batch // config.accumulate), found)
    drawn = sampling.draw(rule, limits, wanted, config.candidates)
    if drawn.largest is None:
        asked = " ".join(f"--{key.replace('_', '-')} {value:,g}" for key, value in config.bounds.items())
        least = f"{drawn.smallest_params:,} parameters, {drawn.smallest_macs:,} multiply-adds and a training "
        least += f"step of {drawn.smallest_bytes / 2**20:.3g} MiB"
        if drawn.fastest_ms is not None:
            least += f", the fastest takes {drawn.fastest_ms:.3g} ms by the price list of this machine"
        raise UserError(
            f"no network of the space {name} fits {asked or 'its constraints'}: the smallest of "
            f"{drawn.tried:,} drawn networks have {least}; raise the budget or choose another --space"
        )
    return drawn


def _nearest_preset(sizes: dict[str, int], largest: Candidate) -> tuple[str | None, Arch | None]:
    """Return the preset for these images whose size is nearest to the largest network that fits."""
    found: list[tuple[float, str, Arch]] = []
    for name in tables.presets():
        with suppress(UserError):  # its patches do not divide these images
            arch = tables.arch(name, (), **sizes)
            cost.refuse_if_too_big(arch)
            params = cost.cost(arch).params
            found.append((max(params / largest.params, largest.params / params), name, arch))
    if not found:
        return None, None
    _, name, arch = min(found, key=lambda row: row[:2])
    return name, arch


def _fits(candidate: Candidate, config: Config) -> bool:
    limits = ((candidate.params, config.max_params), (candidate.macs, config.max_macs))
    memory = cost.cost(candidate.arch).training_bytes(-(-config.batch // config.accumulate))
    limits += ((memory / 2**20, config.max_memory),)  # type: ignore[assignment]
    return all(limit is None or value <= limit for value, limit in limits)


def _pace(config: Config, data: Dataset, networks: dict[int, Candidate]) -> Pace:
    """Time a few steps of the smallest, the middle and the largest network; also refuses bad settings."""
    drawn = sorted((one for number, one in networks.items() if number >= 0), key=lambda one: one.macs)
    chosen = {index: drawn[index] for index in (0, len(drawn) // 2, len(drawn) - 1)}
    settings = [Training(**shared_settings(config), **trials.options(one.arch)) for one in chosen.values()]
    return pace.measure(settings, data, config.batch)


def _median_seconds(config: Config, rhythm: Pace, networks: dict[int, Candidate], steps: int) -> float:
    """Return the seconds of a full training; a few networks with many tokens would rule the mean."""
    return statistics.median(rhythm.seconds(one.arch, config.batch, steps) for one in networks.values())
