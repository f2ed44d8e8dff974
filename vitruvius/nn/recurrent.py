r"""A small recurrent net without biases: $h_t = \sigma(W x_t + U h_{t-1})$, $y_t = V h_t$, logistic $\sigma$.

Shapes: B sequences, T time steps, I inputs, H hidden units, O outputs.
"""

from torch import Tensor, nn

from vitruvius.core.errors import UserError


class RNN(nn.Module):
    """The net unrolled over time; a window truncates the gradient and leaves the outputs as they are."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.w = nn.Linear(inputs, hidden, bias=False)
        self.u = nn.Linear(hidden, hidden, bias=False)
        self.v = nn.Linear(hidden, outputs, bias=False)

    def forward(
        self, x_BTI: Tensor, start_BH: Tensor | None = None, window: int | None = None
    ) -> list[Tensor]:
        """The outputs (B, O) of all time steps; `start_BH` is the state before the first, zero by default.

        With a window (truncated back-propagation through time, Williams and Peng 1990) the gradient of each
        output reaches its own time step and the `window - 1` before it.
        """
        hidden = self.unroll(x_BTI, start_BH)
        if window is not None and window < 1:
            raise UserError(f"window {window}: the gradient needs at least 1 time step")
        if window is not None:  # the same states, each computed again from the detached one `window` earlier
            spans = [(max(0, t + 1 - window), t + 1) for t in range(len(hidden))]
            starts = [hidden[first - 1].detach() if first else start_BH for first, _ in spans]
            again = [self.unroll(x_BTI[:, a:b], h_BH) for (a, b), h_BH in zip(spans, starts, strict=True)]
            hidden = [states[-1] for states in again]
        return [self.v(h_BH) for h_BH in hidden]

    def unroll(self, x_BTI: Tensor, start_BH: Tensor | None = None) -> list[Tensor]:
        """The hidden states (B, H) of all time steps, each a node of one graph."""
        h_BH = x_BTI.new_zeros(len(x_BTI), self.u.in_features) if start_BH is None else start_BH
        states = []
        for x_BI in x_BTI.unbind(1):
            h_BH = (self.w(x_BI) + self.u(h_BH)).sigmoid()
            states.append(h_BH)
        return states
