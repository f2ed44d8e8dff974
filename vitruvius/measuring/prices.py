r"""Predict how long a network takes on this machine, from a price list that `measure --calibrate` has fitted.

The time of a call with $B$ images is a sum of prices times quantities in closed form, $\sum_f p_f\,q_f(B)$
with $p_f \ge 0$: the call itself, its layers, the multiply-adds of linear maps and of attention, the weights
read from memory, and the numbers that norms, activation functions and softmax pass over. No torch.
"""

import os
import platform
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.arch.cost_arrays import Costs, Networks
from vitruvius.core import cache, files
from vitruvius.core.config import Strict
from vitruvius.core.errors import UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

QUANTITIES = (
    *("call", "layers", "linear_macs", "attention_macs", "weights", "heads"),
    *("norm_elements", "mlp_elements", "pairs"),
)
"""What has a price, in the order of `quantities`."""
KERNEL = "softmax"
"""The only attention kernel that is calibrated: others have costs of their own kind."""

Milliseconds = Annotated[float, Field(ge=0)]


class PriceList(Strict):
    """The prices of one machine in milliseconds per unit, and how well they predict networks left out."""

    machine: dict[str, str | int]
    """The fingerprint of the machine: prices of another one say nothing here."""
    device: str
    threads: int
    is_busy: bool
    """Whether other processes took part of the machine while it was calibrated."""
    networks: int
    """How many networks were timed."""
    batch: tuple[int, ...]
    """The batch sizes that were timed."""
    prices: dict[str, Milliseconds]
    error: Annotated[float, Field(ge=0)]
    """Median relative error over networks that the fit had not seen (leave one network out)."""
    date: str


def predicted_ms(arch: Arch, batch: int = 1) -> float | None:
    """Return the predicted milliseconds of one forward pass of `batch` images.

    None if this machine has no price list, or if the network's kernel is not in it.
    """
    found = price_list()
    return None if found is None or arch.kernel != KERNEL else predict(found, arch, batch)


def prediction_error() -> float | None:
    """Return the median relative error of predictions, cross-validated; None without a price list."""
    found = price_list()
    return None if found is None else found.error


def predict(prices: PriceList, arch: Arch, batch: int = 1) -> float:
    """Return the milliseconds that a price list gives a network."""
    named = prices.prices
    return sum(named[name] * count for name, count in zip(QUANTITIES, quantities(arch, batch), strict=True))


def predict_n(prices: PriceList, networks: Networks, found: Costs, batch: int = 1) -> "NDArray[np.float64]":
    """Return the milliseconds that a price list gives to many networks, whose costs are `found`; (n,)."""
    import numpy as np

    depth_n, tokens_n, width_n = networks.depth_n, networks.tokens_n, networks.width_n
    heads_n = networks.summed(networks.heads_nL)
    counts = (  # as in `quantities`
        np.ones_like(depth_n),
        depth_n,
        batch * (found.macs_n - found.attention_macs_n) + found.pass_macs_n,
        batch * found.attention_macs_n,
        found.params_n,
        batch * heads_n,
        batch * tokens_n * width_n * (2 * depth_n + 1),
        batch * tokens_n * networks.summed(networks.mlp_nL),
        batch * heads_n * tokens_n**2,
    )
    milliseconds_n = np.zeros(len(networks))
    for name, count_n in zip(QUANTITIES, counts, strict=True):
        milliseconds_n += prices.prices[name] * count_n
    return milliseconds_n


def quantities(arch: Arch, batch: int = 1) -> tuple[float, ...]:
    """Return what one forward pass of `batch` images is made of, in the order of `QUANTITIES`.

    >>> dict(zip(QUANTITIES, quantities(Arch(depth=2, width=8, heads=2, mlp=16)), strict=True))["layers"]
    2
    """
    tokens, width, found = arch.tokens, arch.width, cost.cost(arch)
    attention = heads = mlp = pairs = 0
    for layer in arch.layers:
        folded = cost.folds(arch.kernel, tokens, width, layer.head_dim)
        wide = width if folded else layer.head_dim  # keys and values of a folded head are whole tokens
        attention += 2 * tokens**2 * layer.heads * wide
        heads += layer.heads
        mlp += tokens * layer.mlp
        pairs += layer.heads * tokens**2
    linear = batch * (found.macs - attention) + found.pass_macs
    norms = batch * tokens * width * (2 * arch.depth + 1)
    shared = (1, arch.depth, linear, batch * attention, found.params)
    return (*shared, batch * heads, norms, batch * mlp, batch * pairs)


def price_list() -> PriceList | None:
    """Return the price list of this machine; None if there is none that can be read."""
    path = location()
    try:
        return _read(path, path.stat().st_mtime_ns)
    except OSError:
        return None


def keep(prices: PriceList) -> Path:
    """Store the price list of this machine in the user's cache folder, in place of an older one."""
    path = location()
    path.parent.mkdir(parents=True, exist_ok=True)
    files.write_json(path, prices.model_dump(mode="json"))
    return path


def location() -> Path:
    """Return the file of this machine's price list."""
    return cache.folder("prices") / f"{_machine()}.json"


def fingerprint() -> dict[str, str | int]:
    """Return what the prices depend on: processor, cores, system, and the version of torch."""
    from importlib import metadata  # a tenth of the start-up time of `search --help`

    try:
        torch = metadata.version("torch")
    except metadata.PackageNotFoundError:
        torch = ""
    return {
        "processor": _processor(),
        "cores": os.cpu_count() or 1,
        "system": f"{platform.system()} {platform.machine()}",
        "torch": torch,
    }


@lru_cache(maxsize=1)
def _machine() -> str:
    return files.content_hash(fingerprint())[:16]


def _processor() -> str:
    """Return the name of the processor; `platform` leaves it empty on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or "unknown"


@lru_cache(maxsize=4)
def _read(path: Path, modified: int) -> PriceList | None:
    """Read a price list once per version of the file; a damaged one, or one of other quantities, is none."""
    try:
        found = files.read_as(path, PriceList)
    except UserError:
        return None
    return found if tuple(found.prices) == QUANTITIES and found.machine == fingerprint() else None
