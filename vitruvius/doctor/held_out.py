"""What held-out rows owe to others: pieces of trained rows at another place, or statistics of their own.

Windows of one series that are split at random overlap: a held-out window holds a piece of a trained one. Rows
that were standardised by their own mean and deviation have exactly mean 0 and deviation 1.
"""

from dataclasses import dataclass, field

import torch
from torch import Tensor

from vitruvius.doctor.rows import number_rows

PIECE, SHORTEST, MOST_PIECES, MOST_PASSES = 4, 8, 40_000, 4
FEWEST_ROWS, MOST_COLUMNS, MOST_GROUPS, LARGEST, EXACT = 16, 512, 3, 1_000_000, 1e-3


@dataclass(slots=True)
class Sums:
    """Sums over the rows of one evaluation: by column, and of everything."""

    group: tuple[int, int]  # step, and pass over a data loader
    rows: int = 0
    total: Tensor | None = None
    squares: Tensor | None = None
    low: Tensor | None = None
    high: Tensor | None = None
    inner: int = 1  # numbers of a row that belong to one column: the pixels of a channel

    def add(self, x: Tensor) -> None:
        """Add the rows of a batch."""
        columns = x.detach().double().flatten(2) if x.dim() > 2 else x.detach().double()[:, :, None]
        total, squares = columns.sum((0, 2)), columns.square().sum((0, 2))
        low, high = columns.amin((0, 2)), columns.amax((0, 2))
        if self.total is None or self.squares is None or self.low is None or self.high is None:
            self.total, self.squares, self.low, self.high = total, squares, low, high
        elif len(total) == len(self.total):
            self.total, self.squares = self.total + total, self.squares + squares
            self.low, self.high = torch.minimum(self.low, low), torch.maximum(self.high, high)
        self.rows, self.inner = self.rows + len(x), columns.shape[2]

    def own_scale(self) -> str:
        """By which statistics of their own the rows are scaled."""
        if self.total is None or self.squares is None or self.rows < FEWEST_ROWS:
            return ""
        columns, count = len(self.total), self.rows * self.inner
        by_column = _is_standard(self.total / count, self.squares / count, count)
        overall = _is_standard(
            self.total.sum() / (count * columns), self.squares.sum() / (count * columns), count * columns
        )
        if by_column and columns > 1:
            return "mean and deviation of each column"
        return "mean and deviation of all numbers" if overall and count * columns >= 2 * FEWEST_ROWS else ""


def _is_standard(mean: Tensor, squares: Tensor, count: int) -> bool:
    variance = squares - mean.square()
    unbiased = variance * count / max(count - 1, 1)
    exact = ((variance - 1).abs() < EXACT) | ((unbiased - 1).abs() < EXACT)
    return bool((mean.abs() < EXACT).all()) and bool(exact.all())


def _series(x: Tensor) -> Tensor | None:
    """(rows, places): the numbers of each row in order, if rows may be windows of a series."""
    if x.dim() == 3:
        x = x[:, 0] if x.shape[1] == 1 else x[:, :, 0]
    return x if x.dim() == 2 and x.shape[1] >= SHORTEST and x.dtype == torch.float32 else None


@dataclass(slots=True)
class Pieces:
    """Pieces of the rows that a network is trained on; they are numbered when an evaluation asks for them."""

    count: int = 0
    new: list[tuple[int, Tensor]] = field(default_factory=list)  # a piece of each row, all at one place
    known: dict[int, int] = field(default_factory=dict)

    def places(self) -> dict[int, int]:
        """The place of each piece, by its number."""
        for place, pieces in self.new:
            self.known.update(dict.fromkeys(number_rows(pieces), place))
        self.new.clear()
        return self.known


@dataclass(slots=True)
class HeldOut:
    """Trained pieces by network, and what is known about the evaluations at each line."""

    pieces: dict[int, Pieces] = field(default_factory=dict)  # of trained rows
    sums: dict[tuple[int, str], Sums] = field(default_factory=dict)
    scales: dict[tuple[int, str], set[str]] = field(default_factory=dict)
    groups: dict[tuple[int, str], int] = field(default_factory=dict)
    passes: dict[tuple[int, str], int] = field(default_factory=dict)
    rows: dict[tuple[int, str], tuple[int, int]] = field(default_factory=dict)  # shifted rows, all rows

    def trained(self, network: int, x: Tensor) -> None:
        """A network is trained on rows."""
        series, known = _series(x.detach()), self.pieces.setdefault(network, Pieces())
        if series is None or known.count > MOST_PIECES:
            return
        for place in (0, series.shape[1] // 2):
            pieces = series[:64, place : place + PIECE].clone()
            known.new.append((place, pieces))
            known.count += len(pieces)

    def evaluated(
        self, network: int, where: str, x: Tensor, known: list[bool], group: tuple[int, int]
    ) -> None:
        """A network has run on rows without gradients; which of the first ones were trained on is known."""
        key = (network, where)
        if not group[0]:  # before the first step
            return
        self._add_sums(key, x, any(known), group)
        series, pieces = _series(x), self.pieces.get(network)
        if series is None or not pieces or not pieces.count or self.passes.get(key, 0) >= MOST_PASSES:
            return
        self.passes[key] = self.passes.get(key, 0) + 1
        new = [place for place, is_known in enumerate(known) if not is_known]
        if new:
            places = pieces.places()
            shifted = sum(_holds_piece(row, places) for row in series[new].detach())
            old = self.rows.get(key, (0, 0))
            self.rows[key] = (old[0] + shifted, old[1] + len(new))

    def _add_sums(self, key: tuple[int, str], x: Tensor, known: bool, group: tuple[int, int]) -> None:
        sums = self.sums.get(key)
        if self.groups.get(key, 0) > MOST_GROUPS or x.shape[1] > MOST_COLUMNS or x.numel() > LARGEST:
            return
        if sums is None or sums.group != group:
            if sums is not None:
                self.scales.setdefault(key, set()).add(sums.own_scale())
            self.groups[key] = self.groups.get(key, 0) + 1
            if self.groups[key] > MOST_GROUPS:
                return
            sums = self.sums[key] = Sums(group)
        sums.add(x)
        if known:  # rows of the training set: their statistics are its own
            self.scales.setdefault(key, set()).add("")

    def own_scale(self, key: tuple[int, str]) -> str:
        """By which statistics of their own the inputs of all evaluations at a line are scaled."""
        found = self.scales.get(key, set()) | {self.sums[key].own_scale()} if key in self.sums else {""}
        return next(iter(found)) if len(found) == 1 else ""

    def shifted(self, key: tuple[int, str]) -> float:
        """The fraction of the new rows at a line that hold a piece of a trained row at another place."""
        shifted, rows = self.rows.get(key, (0, 0))
        return shifted / rows if rows >= FEWEST_ROWS else 0.0


def _holds_piece(row: Tensor, pieces: dict[int, int]) -> bool:
    windows = row.unfold(0, PIECE, 1)
    for place, piece in enumerate(number_rows(windows)):
        at = pieces.get(piece)
        # Whole numbers and constant pieces are alike by chance.
        if at is not None and at != place and len(set(windows[place].tolist())) == PIECE:
            return bool((windows[place] != windows[place].round()).all())
    return False
