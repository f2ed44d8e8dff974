"""Which steps of a training are watched: the first ones, then some in a row, ever more rarely."""

WHOLE, LONGEST_WHOLE = 128, 1024
"""Steps that are all watched from the beginning of a training on, and how many of a long first epoch are."""
PERIOD, RARE_PERIOD, RARE = 200, 1000, 2000
"""Afterwards steps are watched once in a period, in a rarer one after so many steps."""
WINDOW = 5  # steps that are watched one after the other, so that each is seen whole


def is_watched(step: int, began: int, in_first_epoch: bool) -> bool:
    """Whether a step is watched, of a training that began at another one.

    >>> [is_watched(step, 0, False) for step in (127, 128, 198, 199, 203, 204)]
    [True, False, False, True, True, False]
    """
    if step < began + (LONGEST_WHOLE if in_first_epoch else WHOLE):
        return True
    return (step + 1) % _period(step) < WINDOW


def next_window(step: int) -> int:
    """The first step of the window that follows a step between two of them.

    >>> next_window(204), next_window(1804), next_window(2004)
    (399, 1999, 2999)
    """
    period = _period(step)
    return (step // period + 1) * period - 1


def is_sampled(step: int) -> bool:
    """Whether costly facts of a watched step are computed: of the first ones, then of one in each window.

    >>> [step for step in range(700) if is_sampled(step)]
    [0, 1, 2, 20, 40, 60, 80, 100, 120, 140, 160, 180, 200, 400, 600]
    """
    return step < 3 or step % (20 if step < PERIOD else _period(step)) == 0


def _period(step: int) -> int:
    return PERIOD if step < RARE else RARE_PERIOD
