"""Which module of a network is guilty, by its dotted name."""

from collections.abc import Sequence
from os.path import commonprefix

from vitruvius.checks import Trace


def named(trace: Trace, path: str) -> str | None:
    """The path itself if a network that was trained has such a module, otherwise None."""
    known = any(path in dict(example.model.named_modules()) for example in trace.examples)
    return path if path and known else None


def holding(parameters: Sequence[str]) -> str | None:
    """The smallest module that holds all these parameters; None if only the whole network does.

    >>> holding(["stem.0.weight", "stem.2.bias"]), holding(["head.weight"]), holding(["a.weight", "b.weight"])
    ('stem', 'head', None)
    """
    return ".".join(commonprefix([name.split(".")[:-1] for name in parameters])) or None
