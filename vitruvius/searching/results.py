"""What a search yields: stages, trainings, and the result with the recommended network first. No torch."""

import shlex
from collections.abc import Iterable, Iterator
from typing import Any

from vitruvius.arch.arch import Arch
from vitruvius.arch.listing import legend
from vitruvius.core import records
from vitruvius.core.blocks import Block, Cell, Table, Text
from vitruvius.core.config import Strict
from vitruvius.core.counted import counted
from vitruvius.ranking.evaluation import Interval, short
from vitruvius.searching.plan import Plan
from vitruvius.searching.settings import Config, Price
from vitruvius.training.recipe import ClassifierSettings

SHOWN, SHOWN_WEIGHTS = 25, 6
"""Networks in the terminal's table, and features of the surrogate; the page and the files hold all."""


HOW_RUN = ("objective", "seed", "checkpoint", "time_limit", "threads", "device", "precision", "workers")
"""Settings that the command which trains the winner leaves to their defaults."""


class Stage(records.Record):
    """A stage of the search begins; `left`: seconds that the rest is expected to take."""

    stage: int
    text: str
    timing: dict[str, float | None] = {}

    def view(self) -> Iterable[Block]:
        left = self.timing.get("left")
        about = "" if left is None else f" ({duration(left)} left)"
        yield Text(text=f"{self.stage}. {self.text}{about}", style="title")


class Chosen(records.Record):
    """The networks that a search goes on with, by number; kept, so that a resumed one chooses the same."""

    step: str
    networks: tuple[int, ...]
    why: str = ""


class Timed(records.Record):
    """Milliseconds of one image that were measured, by network number; kept, as another time differs."""

    ms: dict[int, float]


class Trained(records.Record):
    """One training has reached its rung or its end, or has failed."""

    network: str
    steps: int
    replicate: int = 0
    accuracy: float | None = None
    failed: str = ""
    timing: dict[str, float] = {}

    def view(self) -> Iterable[Block]:
        seed = ", second seed" if self.replicate else ""
        reached = (
            f"failed: {self.failed}" if self.accuracy is None else f"validation accuracy {self.accuracy:.2%}"
        )
        text = f"   {self.network}, {self.steps:,} steps{seed}: {reached}"
        yield Text(text=text, style="warning" if self.failed else "plain")


class Network(Strict):
    """A network of the search: its price, what it reached, what it was predicted to reach."""

    name: str
    number: int
    arch: Arch
    params: int
    macs: int
    ms: float | None = None
    """Milliseconds of one image; None where they were neither predicted nor measured."""
    ms_is_measured: bool = False
    short: dict[int, float] = {}
    """Validation accuracy by steps, of trainings that have not ended."""
    full: tuple[float, ...] = ()
    """Validation accuracies of trainings that have ended, one for each seed."""
    interval: Interval = Interval()
    """Of the mean over the seeds; with 95 % confidence for the images and the seed."""
    prior: float | None = None
    """Mean rank by a few scores, from 0 to 1."""
    failed: str = ""
    roles: tuple[str, ...] = ()
    """winner, finalist, largest, preset, median."""

    def price(self, kind: Price) -> float | None:
        """Return what it costs."""
        return self.ms if kind == "ms" else float(getattr(self, kind))


class Gain(Strict):
    """By how many points of validation accuracy the winner is better than a network to compare with."""

    over: str
    network: str
    points: Interval
    is_winner: bool = False
    """Whether that network is the winner itself."""

    @property
    def sentence(self) -> str:
        """Say the gain, or that there is none."""
        if self.is_winner:
            return f"It is {self.over} itself."
        found, named = self.points, f"{self.over} ({self.network})"
        if found.value is None:
            return f"Not compared with {named}: it has no accuracy."
        text = f"{found.value:+.2f} points [{found.low:+.2f} {found.high:+.2f}]"
        if found.low is not None and found.low > 0:
            return f"Gain over {named}: {text}."
        if found.high is not None and found.high < 0:
            return f"Worse than {named}: {text}."
        return f"No gain over {named}: {text}."


class Learned(Strict):
    """What the surrogate learned at one decision, and whether it was used."""

    step: str
    labels: int
    tau: float | None = None
    """Leave-one-out."""
    counting: float | None = None
    used: bool = False
    weights: dict[str, float] = {}
    """Points of accuracy per standard deviation of a feature."""

    @property
    def sentence(self) -> str:
        """Say how well accuracy was predicted and what followed from that."""
        if self.tau is None:
            return f"{self.step}: {counted(self.labels, 'accuracy')}, too few to learn from."
        taus = f"leave-one-out tau {short(self.tau)}, counting parameters {short(self.counting)}"
        used = "it was used" if self.used else "not used, as it is no better or the accuracies are too few"
        return f"{self.step}: from {counted(self.labels, 'accuracy')}, {taus}: {used}."


class Spent(Strict):
    """What the search cost."""

    trainings: float
    """In full trainings, by steps."""
    networks: int
    seconds: float
    failed: int = 0


class Result(records.Result):
    """The recommended network, what is gained by it, and everything that was tried."""

    winner: Network
    test_accuracy: Interval
    """Of the winner's first training, read once; no value without test images."""
    test_images: int
    validation_images: int
    gains: tuple[Gain, ...]
    equals: tuple[str, ...] = ()
    """Fully trained networks whose accuracy cannot be told apart from the winner's."""
    spent: Spent
    plan: Plan
    front: tuple[str, ...]
    """Names of the fully trained networks that no cheaper one equals."""
    front_price: Price
    networks: tuple[Network, ...]
    """All that were trained, the best first."""
    learned: tuple[Learned, ...] = ()
    order: str
    """What depended on the order in which trainings ended, or on the clock."""
    drawn: int
    fitting: int
    space: str
    data: str
    seed: int
    run: str
    """The winner's own run, which predict and export take."""
    search: str
    """The folder of this search."""
    config: Config

    @property
    def commands(self) -> list[str]:
        """Return the commands that use the winner and that train it again."""
        run = shlex.quote(self.run)
        return [f"vitruvius export {run}", f"vitruvius predict {run} IMAGE", self.train_command]

    @property
    def train_command(self) -> str:
        """Return the command that trains the recommended network."""
        words = []
        for name, field in Config.model_fields.items():
            value = getattr(self.config, name)
            is_told = name in ("data", "epochs", "schedule") or value != field.default
            if name not in ClassifierSettings.model_fields or name in HOW_RUN or not is_told:
                continue
            option = f"--{name.replace('_', '-')}"
            words += [option] if value is True else [option, shlex.quote(str(value))]
        arch = shlex.quote(f"{self.search}/winner.json")
        return " ".join(["vitruvius train", *words, "--recipe plain", "--arch", arch])

    def view(self) -> Iterable[Block]:
        yield from self.answer()
        yield front_table(self)
        yield networks_table(self, SHOWN)
        yield from self.lessons(SHOWN_WEIGHTS)
        yield Text(text=self.order, style="note")
        yield Text(text=f"{self.data}; search: {self.search}", style="note")

    def answer(self) -> Iterator[Text]:
        """The recommendation, the commands, the gains and what was spent."""
        yield Text(text=f"Recommended: {self.winner.name}, {self.accuracy}", style="title")
        yield Text(text=f"{describe(self.winner.arch)}: {prices(self.winner)}")
        yield Text(text="\n".join(self.commands), style="good")
        for gain in self.gains:
            yield Text(text=gain.sentence)
        if self.equals:
            yield Text(text=f"Not to be told apart from it: {', '.join(self.equals)}.")
        spent, failed = self.spent, f", {self.spent.failed} failed" if self.spent.failed else ""
        yield Text(
            text=f"Spent: {counted(spent.networks, 'network')}, "
            f"{spent.trainings:.1f} full trainings, "
            f"{duration(spent.seconds)}{failed}."
        )

    @property
    def accuracy(self) -> str:
        """Say the accuracy with its interval and on which images it was measured."""
        found = self.test_accuracy
        if found.value is not None:
            return f"test accuracy {percent(found)} on {self.test_images:,} images that were read once"
        return f"validation accuracy {percent(self.winner.interval)} on the images by which it was chosen"

    def lessons(self, most: int) -> Iterator[Text]:
        """What the surrogate learned, decision by decision, and which features weighed most."""
        for learned in self.learned:
            yield Text(text=f"Surrogate, {learned.sentence}")
        used = [learned for learned in self.learned if learned.used]
        if used:
            heaviest = sorted(used[-1].weights.items(), key=lambda pair: -abs(pair[1]))[:most]
            yield Text(
                text="Its weights, in points: " + ", ".join(f"{name} {w:+.2f}" for name, w in heaviest)
            )


def describe(arch: Arch) -> str:
    """Say a network in words."""
    layer = arch.layers[0]
    same = len(set(arch.layers)) == 1
    heads = counted(layer.heads, "head")
    about = f"{heads} of {layer.head_dim}, mlp {layer.mlp}" if same else "layers that differ"
    return f"patch {arch.patch}, width {arch.width}, depth {arch.depth}, {about}"


def prices(network: Network) -> str:
    """Say what a network costs."""
    text = f"{network.params:,} parameters, {network.macs:,} multiply-adds per image"
    if network.ms is None:
        return text
    return f"{text}, {network.ms:.3g} ms per image ({'measured' if network.ms_is_measured else 'predicted'})"


def percent(found: Interval) -> str:
    """An accuracy in percent with its interval.

    >>> percent(Interval(value=0.9, low=0.88, high=0.915))
    '90.00 % [88.00 91.50]'
    """
    if found.value is None:
        return "unknown"
    around = (
        "" if found.low is None or found.high is None else f" [{100 * found.low:.2f} {100 * found.high:.2f}]"
    )
    return f"{100 * found.value:.2f} %{around}"


def duration(seconds: float) -> str:
    """A time in the unit that fits.

    >>> duration(5), duration(150), duration(9000)
    ('5 s', '2.5 min', '2.5 h')
    """
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.1f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def front_table(result: Result) -> Table:
    """The fully trained networks that no cheaper one equals, the cheapest first."""
    kind = result.front_price
    shown = sorted((n for n in result.networks if n.name in result.front), key=lambda n: n.price(kind) or 0)
    rows = tuple((network.name, network.price(kind), percent(network.interval)) for network in shown)
    name = _ms_name(result.networks) if kind == "ms" else kind
    title = f"The front: the best validation accuracy at each number of {kind}"
    return Table(title=title, columns=("network", name, "accuracy [95 %]"), rows=rows)


def _ms_name(networks: Iterable[Network]) -> str:
    """Name the column of milliseconds by where they come from; empty if there are none."""
    measured = {network.ms_is_measured for network in networks if network.ms is not None}
    if len(measured) == 2:
        return "ms, predicted or measured"
    return "" if not measured else "measured ms" if True in measured else "predicted ms"


def networks_table(result: Result, most: int) -> Table:
    """All networks that were trained, the best first; one that failed with its reason."""
    lengths, with_ms = [rung.steps for rung in result.plan.rungs], _ms_name(result.networks)
    rows: list[tuple[Cell, ...]] = []
    for network in result.networks[:most]:
        reached = [network.short.get(steps) for steps in lengths]
        cells = [None if value is None else f"{value:.2%}" for value in reached]
        full = percent(network.interval) if network.full else network.failed or None
        what = describe(network.arch)
        sizes: tuple[Cell, ...] = (network.name, network.params, network.macs)
        sizes = (*sizes, network.ms) if with_ms else sizes
        rows.append((*sizes, *cells, full, ", ".join(network.roles), what))
    trained = [f"{steps:,} steps" for steps in lengths]
    columns = ("network", "parameters", "MACs", *([with_ms] if with_ms else []), *trained)
    more = [f"{len(result.networks) - most} more in networks.csv"] * (len(result.networks) > most)
    known = result.plan.prices
    legends = [legend(known.error)] if known and "predicted" in with_ms else []
    full_name = f"{result.plan.steps:,} steps"
    return Table(
        title=f"{counted(len(result.networks), 'network')}, validation accuracy after",
        columns=(*columns, full_name, "role", "what it is"),
        rows=tuple(rows),
        note="; ".join((*more, *legends)),
    )


def csv_row(network: Network, lengths: Iterable[int]) -> dict[str, Any]:
    """A line of networks.csv."""
    arch = network.arch.model_dump(mode="json")
    sizes = {name: arch[name] for name in ("patch", "width", "depth", "heads", "head_dim", "mlp")}
    full = {f"full_{seed}": dict(enumerate(network.full)).get(seed) for seed in (0, 1)}
    return {
        **network.model_dump(include={"name", "params", "macs", "ms"}),
        **sizes,
        "prior": network.prior,
        **{f"steps_{steps}": network.short.get(steps) for steps in lengths},
        **full,
        "low": network.interval.low,
        "high": network.interval.high,
        "roles": " ".join(network.roles),
        "failed": network.failed,
    }
