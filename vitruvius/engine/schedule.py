r"""The learning rate as a function of the step: linear warm-up, then half a cosine towards zero.

$\eta_t = \eta\,t/w$ for $t \le w$, then $\tfrac{\eta}{2}\big(1 + \cos(\pi\,\frac{t-1-w}{T-w})\big)$ (Loshchilov and
Hutter 2017), steps $t = 1 \dots T$.
"""

import math


def learning_rate(step: int, peak: float, warmup: int, total: int | None) -> float:
    """The rate of optimiser step `step`, counted from 1, of `total`; a warm-up takes at most half of the steps.

    Without a total the rate stays at its peak.

    >>> [round(learning_rate(step, 1.0, 2, 6), 3) for step in range(1, 7)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146]
    """
    warmup = warmup if total is None else min(warmup, total // 2)
    if step <= warmup:
        return peak * step / warmup
    if total is None:
        return peak
    return peak * (1 + math.cos(math.pi * (step - 1 - warmup) / max(1, total - warmup))) / 2
