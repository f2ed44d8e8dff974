"""Ask for huge networks: each is refused before memory is taken; what fits needs what was predicted."""

import random
import resource

import torch

from tests.campaigns import Tally
from vitruvius import proxies
from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.nn.vit import ViT
from vitruvius.ranking import memory

FULL, SMALL = 1000, 100
FITTING = 20
"""Of so many networks that are asked for, one is also one that fits, whose memory is compared."""
WITHIN = 0.2
GROWTH = 64 * 2**20
"""Bytes by which the process may grow over all refusals."""


def run(rounds: int, first: int = 0) -> Tally:
    """Ask for so many huge networks, then compare the memory of a twentieth as many that fit."""
    tally = Tally(planted="a network whose weights are built before they are priced")
    before = _peak()
    for number in range(first, first + rounds):
        _ask(tally, random.Random(number))
    grown = _peak() - before
    if grown > GROWTH:
        tally.fail("huge", "allocated", f"the process grew by {grown:,} bytes")
    for number in range(first, first + rounds, FITTING):
        _compare(tally, small(random.Random(number)))
    before = _peak()
    built = ViT(Arch(image=8, channels=1, patch=4, width=2048, heads=2, depth=2, mlp=4096, classes=10))
    tally.is_caught = _peak() - before > GROWTH
    del built
    return tally


def _ask(tally: Tally, source: random.Random) -> None:
    fields = huge(source)
    try:
        arch = Arch(**fields)
    except UserError:
        tally.count("huge", "refused as no network")
        return
    try:
        cost.refuse_if_too_big(arch, 64)
        tally.fail("huge", "accepted", str(fields))
    except UserError:
        tally.count("huge", "refused by memory")


def huge(source: random.Random) -> dict[str, int]:
    """Return a network of hundreds of layers, thousands wide, or with sizes beyond any bound."""
    width = 2 ** source.randrange(12, 20)
    return {
        "image": 8 * 2 ** source.randrange(0, 8),
        "channels": source.choice((1, 3)),
        "patch": 8,
        "width": width,
        "heads": 2 ** source.randrange(0, 8),
        "depth": source.choice((200, 500, 1000, 10**6)),
        "mlp": source.choice((4096, width, 4 * width, 10**30)),
        "classes": source.choice((1, 10, 10**6)),
    }


def small(source: random.Random) -> Arch:
    """Return a network that fits into any machine."""
    return Arch(
        image=16,
        channels=1,
        patch=source.choice((4, 8)),
        width=8 * source.randrange(2, 9),
        heads=source.choice((1, 2, 4)),
        depth=source.randrange(1, 5),
        mlp=16 * source.randrange(1, 9),
        classes=10,
    )


def _compare(tally: Tally, arch: Arch) -> None:
    """Compare the predicted bytes of a training step with what autograd keeps."""
    x, y = torch.randn(16, 1, 16, 16), torch.randint(0, 10, (16,))
    measured = memory.training_bytes(proxies.OnePass(ViT(arch), x, y))
    predicted = cost.cost(arch).training_bytes(len(x))
    assert measured is not None
    if abs(predicted - measured) <= WITHIN * measured:
        tally.count("fitting", f"predicted within {WITHIN:.0%}")
    else:
        tally.fail("fitting", "mispredicted", f"{arch}: {predicted:,} predicted, {measured:,} measured")


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
