"""Draw networks from a space: each is a function of (seed, index) alone; what exceeds the budget is left out.

All networks of a block are drawn and priced as arrays. Uniform: every network of the space is equally likely.
Log-uniform: small and large networks are equally frequent on a logarithmic scale, as a front needs them.

Shapes: n networks, L layers, P proposals.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vitruvius.arch.arch import Arch
from vitruvius.arch.cost_arrays import Costs, Networks, costs
from vitruvius.arch.spaces import Space
from vitruvius.core.errors import UserError
from vitruvius.measuring import prices
from vitruvius.measuring.prices import PriceList
from vitruvius.searching.settings import Budget

BLOCK = 8192
"""Networks drawn at a time."""
PROPOSALS = 8
"""Networks of which log-uniform sampling takes the one whose size is nearest to the size it has drawn."""
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Sampling = Literal["uniform", "log-uniform"]


class Candidate(NamedTuple):
    """A drawn network with its number in the sample and its price."""

    number: int
    arch: Arch
    params: int
    macs: int


class Rule(NamedTuple):
    """Everything that decides a sample beside its index: the space, what the data decide, seed and law."""

    space: Space
    sizes: dict[str, int]
    seed: int
    sampling: Sampling = "uniform"

    @property
    def like(self) -> Arch:
        """Return a network with the fields that all samples share."""
        patch = self.space.patches(self.sizes["image"])[0]
        return self.space.arch({"patch": patch}, **self.sizes)


class Limits(NamedTuple):
    """What a network may cost; without a price list its milliseconds are not known, and not bounded here."""

    budget: Budget
    batch: int = 1
    """Images of a training step, whose memory is bounded."""
    prices: PriceList | None = None


@dataclass
class Drawn:
    """What a draw has found: candidates in the order of their numbers, and the largest of all that fit."""

    candidates: list[Candidate] = field(default_factory=list)
    largest: Candidate | None = None
    tried: int = 0
    fitting: int = 0
    smallest_params: int = 0  # of all networks that were tried, fitting or not
    smallest_macs: int = 0
    smallest_bytes: int = 0  # memory of a training step
    fastest_ms: float | None = None  # predicted, of blocks in which nothing fits


def draw(rule: Rule, limits: Limits, wanted: int, tries: int) -> Drawn:
    """Draw `tries` networks, keep the first `wanted` that fit and differ, and the largest that fits."""
    found, seen = Drawn(), set[object]()
    for start, networks, price, fits_n in blocks(rule, limits, tries):
        found.tried += len(networks)
        found.fitting += int(fits_n.sum())
        memory_n = price.training_bytes_n(limits.batch)
        for name, values_n in (("params", price.params_n), ("macs", price.macs_n), ("bytes", memory_n)):
            known, least = getattr(found, f"smallest_{name}"), int(values_n.min())
            setattr(found, f"smallest_{name}", min(known or least, least))
        if not fits_n.any():
            if limits.prices is not None:
                fastest = float(prices.predict_n(limits.prices, networks, price).min())
                found.fastest_ms = min(fastest, found.fastest_ms or fastest)
            continue
        top = int(np.argmax(np.where(fits_n, price.params_n, -1)))
        if found.largest is None or price.params_n[top] > found.largest.params:
            found.largest = _candidate(rule, networks, price, start, top)
        for index in np.flatnonzero(fits_n):
            if len(found.candidates) >= wanted:
                break
            candidate = _candidate(rule, networks, price, start, int(index))
            if (key := same_function(candidate.arch)) not in seen:
                seen.add(key)
                found.candidates.append(candidate)
    return found


def same_function(arch: Arch) -> tuple[object, ...]:
    """Return a key that is equal for networks that compute the same function of the same weights."""
    rest = arch.model_dump(exclude={"heads", "head_dim", "mlp", "init"})
    return (*sorted(rest.items()), arch.layers)


def blocks(
    rule: Rule, limits: Limits, tries: int
) -> Iterator[tuple[int, Networks, Costs, NDArray[np.bool_]]]:
    """Yield the first `tries` networks in blocks, with their prices and whether they fit."""
    if rule.like.kernel != "softmax":
        raise UserError(
            f"space: kernel {rule.like.kernel}: only networks with softmax attention are searched"
        )
    sizes = _log_sizes(rule, limits) if rule.sampling == "log-uniform" else None
    for start in range(0, tries, BLOCK):
        index_n = np.arange(start, min(start + BLOCK, tries))
        networks = _uniform(rule, index_n) if sizes is None else _log_uniform(rule, index_n, sizes, limits)
        price = costs(networks)
        yield start, networks, price, fits(rule.space, networks, price, limits)


def fits(space: Space, networks: Networks, price: Costs, limits: Limits) -> NDArray[np.bool_]:
    """Whether each network obeys the constraints of its space and the budget, (n,)."""
    fits_n = np.ones(len(networks), dtype=bool)
    ratio_nL = networks.heads_nL * networks.head_dim_nL / networks.width_n[:, None]
    quantities = {
        "tokens": (networks.tokens_n, networks.tokens_n),
        "attention_ratio": (
            np.where(networks.is_layer_nL, ratio_nL, np.inf).min(1),
            np.where(networks.is_layer_nL, ratio_nL, -np.inf).max(1),
        ),
    }
    for name, bounds in space.constraints.items():
        low_n, high_n = quantities[name]
        fits_n &= (low_n >= bounds.least) & (high_n <= bounds.most)
    budget = limits.budget
    if budget.max_params is not None:
        fits_n &= price.params_n <= budget.max_params
    if budget.max_macs is not None:
        fits_n &= price.macs_n <= budget.max_macs
    if budget.max_memory is not None:
        fits_n &= price.training_bytes_n(limits.batch) <= budget.max_memory * 2**20
    if budget.max_ms is not None and limits.prices is not None:
        fits_n &= prices.predict_n(limits.prices, networks, price) <= budget.max_ms
    return fits_n


def _uniform(rule: Rule, index_n: Ints, stream: int = 0, by_log: bool = False) -> Networks:
    """Draw networks; `by_log`: widths and depths are log-uniform instead of every network equally likely."""
    space, image = rule.space, rule.sizes["image"]
    cells = list(space.cells)
    heaviest = max(space.cells.values())
    # Numbers of networks may exceed every float; their ratios to the largest do not matter below 1e-300.
    weight = [1 / (cell[0] * cell[1]) if by_log else space.cells[cell] / heaviest for cell in cells]
    edges = np.cumsum(weight) / np.sum(weight)

    def unit(name: str, layer: int = 0) -> Floats:
        return uniform(rule.seed, index_n, f"{stream} {name} {layer}")

    cell_n = np.minimum(np.searchsorted(edges, unit("cell"), side="right"), len(cells) - 1)
    width_n, depth_n = np.array(cells, dtype=np.int64)[cell_n].T
    patches = np.array(space.patches(image), dtype=np.int64)
    deepest, layered = int(depth_n.max()), set(space.per_layer)
    tables = {width: np.array(space.heads_for(width), dtype=np.int64) for width in set(width_n.tolist())}
    dims = np.array(space.values("head_dim"), dtype=np.int64)
    ratios = np.array(space.values("mlp_ratio"))

    def per_layer(name: str) -> Floats:
        layers = [unit(name, layer if name in layered else 0) for layer in range(deepest)]
        return np.stack(layers, 1)

    heads_nL = np.empty((len(index_n), deepest), dtype=np.int64)
    drawn_nL = per_layer("heads")
    for width, table in tables.items():
        rows = width_n == width
        heads_nL[rows] = table[_pick(drawn_nL[rows], len(table))]
    fixed = rule.like.head_dim
    if len(dims):
        dim_nL = dims[_pick(per_layer("head_dim"), len(dims))]
    elif fixed is not None:
        dim_nL = np.broadcast_to(np.int64(fixed), heads_nL.shape)  # type: ignore[arg-type]
    else:
        dim_nL = width_n[:, None] // heads_nL
    mlp_nL = (width_n[:, None] * ratios[_pick(per_layer("mlp_ratio"), len(ratios))]).astype(np.int64)
    patch_n = patches[_pick(unit("patch"), len(patches))]
    return Networks(rule.like, patch_n, width_n, depth_n, heads_nL, dim_nL, np.maximum(mlp_nL, 1))


def _log_uniform(rule: Rule, index_n: Ints, sizes: tuple[float, float], limits: Limits) -> Networks:
    """Draw a size for each network and take, of several proposals that fit, the one nearest to it."""
    low, high = sizes
    target_n = low + (high - low) * uniform(rule.seed, index_n, "size")
    proposals = [_uniform(rule, index_n, 1 + number, by_log=True) for number in range(PROPOSALS)]
    priced = [costs(networks) for networks in proposals]
    away_Pn = np.stack([np.abs(np.log(price.params_n) - target_n) for price in priced])
    for row, networks, price in zip(away_Pn, proposals, priced, strict=True):
        row[~fits(rule.space, networks, price, limits)] = np.inf
    best_n = away_Pn.argmin(0)
    deepest = max(networks.heads_nL.shape[1] for networks in proposals)

    def chosen(name: str) -> Ints:
        values = [getattr(networks, name) for networks in proposals]
        if values[0].ndim == 2:  # layers that no network of a proposal has are masked out anyway
            values = [np.pad(value, ((0, 0), (0, deepest - value.shape[1]))) for value in values]
        return np.stack(values)[best_n, np.arange(len(index_n))]

    names = ("patch_n", "width_n", "depth_n", "heads_nL", "head_dim_nL", "mlp_nL")
    return Networks(rule.like, *map(chosen, names))


def _log_sizes(rule: Rule, limits: Limits) -> tuple[float, float]:
    """Return the logarithms of the smallest and the largest number of parameters among networks that fit."""
    networks = _uniform(rule, np.arange(BLOCK), by_log=True)
    price = costs(networks)
    fitting = price.params_n[fits(rule.space, networks, price, limits)]
    return (float(np.log(fitting.min())), float(np.log(fitting.max()))) if len(fitting) else (0.0, 0.0)


def uniform(seed: int, index_n: Ints, stream: str) -> Floats:
    """Return numbers in [0, 1), each a hash of (seed, index, stream): Steele et al. 2014, SplitMix64."""
    start = int.from_bytes(f"{seed} {stream}".encode(), "big") % (2**64 - 59)
    with np.errstate(over="ignore"):
        state_n = _mix(np.full(1, start, dtype=np.uint64)) + index_n.astype(np.uint64) * np.uint64(
            0x9E3779B97F4A7C15
        )
        return (_mix(_mix(state_n)) >> np.uint64(11)).astype(float) / 2**53


def _mix(state: NDArray[np.uint64]) -> NDArray[np.uint64]:
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


def _pick(unit: Floats, count: int) -> Ints:
    return np.minimum((unit * count).astype(np.int64), count - 1)


def _candidate(rule: Rule, networks: Networks, price: Costs, start: int, index: int) -> Candidate:
    arch = rule.space.arch(networks.fields(index), **rule.sizes)
    return Candidate(start + index, arch, int(price.params_n[index]), int(price.macs_n[index]))
