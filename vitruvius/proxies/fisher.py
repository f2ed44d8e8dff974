r"""Fisher information of channels (Theis et al. 2018, Turner et al. 2020): their effect on the loss.

$\sum_l F_l \sum_c \tfrac12\,\mathrm{mean}_b \bigl(\sum_n a_{bnc}\,\partial L/\partial a_{bnc}\bigr)^2$ over
the outputs $a$ of the linear maps and convolutions $l$, with their fan-in $F_l$ and the mean cross-entropy
$L$ of the minibatch. The projections inside `nn.MultiheadAttention` show no output and are not counted.
Public code sums the channels of (B, N, C) and keeps the tokens.

Shapes: B batch, N tokens or pixels, C channels.
"""

from vitruvius.proxies import OnePass, _activations


def fisher(once: OnePass) -> float:
    """Half the mean square of each channel's effect on the loss, times the fan-in of its layer."""
    score = 0.0
    for call, gradient in zip(once.activations.linear, once.activation_gradients, strict=True):
        product = call.output.detach() * gradient
        effect_BC = _activations.by_image(product, len(once.x), channels_second=call.weight.dim() > 2).sum(1)
        score += call.weight[0].numel() / 2 * effect_BC.square().mean(0).sum().item()
    return score
