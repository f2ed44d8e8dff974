"""What a mask of attention hides: the future or the past, padding or tokens. T tokens, B batch."""

from dataclasses import dataclass

import torch
from torch import Tensor

HIDDEN = -1e4  # a score that low, or a number that low added to one, hides a key
OWN_TOKENS = 4  # that a network puts before those that it is given
SMALLEST = 3  # tokens of a mask whose triangle can be told


@dataclass(frozen=True, slots=True)
class Hidden:
    """Which keys a mask hides."""

    keys: Tensor | None  # True where hidden; None if a mask of zeros and ones is added to the scores

    @property
    def anti_causal(self) -> bool:
        """Every token sees only itself and later ones, or later ones only."""
        square = _square(self.keys)
        if square is None:
            return False
        ones = torch.ones_like(square)
        return any(torch.equal(square, ones.tril(diagonal)) for diagonal in (0, -1))

    @property
    def per_row(self) -> Tensor | None:
        """(B, T): which keys of each row are hidden from all queries; None if it is no such mask."""
        keys = self.keys
        if keys is None or keys.dim() < 2 or keys.shape[-1] < 2:
            return None
        middle = keys.shape[1:-1]
        return keys.reshape(len(keys), -1) if all(size == 1 for size in middle) else None


def added(mask: Tensor) -> Hidden:
    """What a mask hides that is added to the scores."""
    values = mask.detach()
    binary = bool(((values == 0) | (values == 1)).all()) and bool((values == 1).any())
    mixed = binary and bool((values == 0).any())
    return Hidden(None if mixed else values <= HIDDEN)


def _square(keys: Tensor | None) -> Tensor | None:
    """(T, T): the mask of the first head and row, if all have the same."""
    if keys is None or keys.dim() < 2 or keys.shape[-1] != keys.shape[-2] or keys.shape[-1] < SMALLEST:
        return None
    flat = keys.reshape(-1, *keys.shape[-2:])
    return flat[0] if len(flat) and bool((flat == flat[0]).all()) else None


def hides_tokens(hidden_BT: Tensor, x: Tensor) -> bool:
    """Whether what stays visible is one constant, the padding, while what is hidden varies.

    The network may have put tokens of its own before the others: a mask may be a little longer.
    """
    more = hidden_BT.shape[1] - x.shape[1]
    if len(x) != len(hidden_BT) or not 0 <= more <= OWN_TOKENS:
        return False
    hidden_BT = hidden_BT[:, more:]
    visible, hidden = x[~hidden_BT], x[hidden_BT]
    return _is_constant(visible) and not _is_constant(hidden) and len(visible) > 0


def _is_constant(rows: Tensor) -> bool:
    return len(rows) == 0 or bool((rows == rows[0]).all())


def is_emptied(hidden_BT: Tensor) -> bool:
    """Whether whole rows are hidden, and the first tokens of all the others: True means padding here."""
    full = hidden_BT.all(1)
    rest = hidden_BT[~full]
    # The hidden tokens come first and the visible ones last: as a mask of the real tokens does.
    starts = len(rest) > 0 and bool(rest[:, 0].all()) and not bool((rest[:, 1:] & ~rest[:, :-1]).any())
    return bool(full.any()) and starts
