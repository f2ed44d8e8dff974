r"""How steadily the tokens spread from step to step (AZ-NAS, Lee and Ham 2024).

$\min_l (E_{l+1} - E_l)$ over the residual steps $l$, with the entropy $E_l$ of `az_expressivity` after step
$l$. Public code ranks it within a population of networks: `az_nas` does that.
"""

from vitruvius.core.errors import UserError
from vitruvius.proxies import OnePass


def az_progressivity(once: OnePass) -> float:
    """The smallest gain of entropy between two consecutive residual steps."""
    entropies = once.token_entropies
    if len(entropies) < 2:
        raise UserError("the network has no two residual steps to compare")
    return min(after - before for before, after in zip(entropies, entropies[1:], strict=False))
