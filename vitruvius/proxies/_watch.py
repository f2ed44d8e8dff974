"""What a forward pass computes, seen operation by operation and hence whatever the modules are called.

A linear map is a call of `linear` or a convolution, an activation function one of `NONLINEAR`, a residual step the sum
of two activations of one shape. The products inside `nn.MultiheadAttention` are one operation and stay unseen.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from vitruvius.core.errors import UserError

LINEAR = {functional.linear, functional.conv1d, functional.conv2d, functional.conv3d}
SUM = {torch.add, Tensor.add, Tensor.add_, Tensor.__add__, Tensor.__iadd__, Tensor.__radd__}
NONLINEAR_NAMES = (
    "gelu relu relu_ relu6 silu elu elu_ selu selu_ celu leaky_relu leaky_relu_ prelu mish softplus softsign "
    "tanh tanh_ sigmoid sigmoid_ logsigmoid hardswish hardtanh hardsigmoid"
)
NONLINEAR = {
    getattr(home, name, None) for home in (functional, torch, Tensor) for name in NONLINEAR_NAMES.split()
}
NONLINEAR.discard(None)


class Linear(NamedTuple):
    """A linear map as it was applied; the channels of its output come last, after a convolution second."""

    input: Tensor
    weight: Tensor
    output: Tensor


class Residual(NamedTuple):
    """One residual step: what was passed by, and its sum with what was computed from it."""

    skip: Tensor
    output: Tensor


class Watch(TorchFunctionMode):
    """Inside, the activations of a forward pass are kept by role, as references."""

    def __init__(self) -> None:
        super().__init__()
        self.all_linear: list[Linear] = []
        self.all_nonlinear: list[Tensor] = []
        self.all_residual: list[Residual] = []
        self._versions: list[tuple[str, Tensor, int]] = []
        self._behind_activation = False
        self.mlp: dict[int, Tensor] = {}
        """By identity, the weights of linear maps whose output enters an activation function, and of the next map."""

    @property
    def linear(self) -> list[Linear]:
        """Every linear map, in order."""
        self._refuse("linear", self.all_linear, "linear maps or convolutions")
        return self.all_linear

    @property
    def nonlinear(self) -> list[Tensor]:
        """The input of every activation function, in order."""
        self._refuse("nonlinear", self.all_nonlinear, "activation functions")
        return self.all_nonlinear

    @property
    def residual(self) -> list[Residual]:
        """Every residual step, in order."""
        self._refuse("residual", self.all_residual, "residual steps (sums of two activations of one shape)")
        return self.all_residual

    @property
    def features(self) -> Tensor:
        """What the last linear map, the head, reads."""
        if not self.all_linear:
            raise UserError("the network has no linear maps or convolutions")
        return self.all_linear[-1].input

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Compute as ever, and keep what has a role."""
        kwargs = kwargs or {}
        if func in LINEAR:
            return self._see_linear(func, args, kwargs)
        if func in SUM and len(args) == 2 and not kwargs and _are_activations(*args):
            return self._see_residual(func, *args)
        if func in NONLINEAR:
            self._see_nonlinear(func, args, kwargs)
        return func(*args, **kwargs)

    def _see_linear(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        output = func(*args, **kwargs)
        input, weight = (*args, *(kwargs[name] for name in ("input", "weight")[len(args) :]))[:2]
        self.all_linear.append(Linear(input, weight, output))
        self._keep("linear", output)
        if self._behind_activation:
            self.mlp[id(weight)] = weight
        self._behind_activation = False
        return output

    def _see_nonlinear(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        input = args[0] if args else kwargs["input"]
        last = self.all_linear[-1] if self.all_linear else None
        if last is not None and last.output is input:
            self.mlp[id(last.weight)] = last.weight
            self._behind_activation = True
        # The only option of these functions that is ever True is to overwrite their input.
        in_place = func.__name__.endswith("_") or any(
            option is True for option in (*args[1:], *kwargs.values())
        )
        self.all_nonlinear.append(input.detach().clone() if in_place else input)
        self._keep("nonlinear", self.all_nonlinear[-1])

    def _see_residual(self, func: Any, left: Any, right: Any) -> Tensor:
        # What is passed by was computed before what is computed from it.
        skip = min(left, right, key=lambda tensor: tensor.grad_fn._sequence_nr())
        self._keep("residual", skip)
        output = func(left, right)
        self.all_residual.append(Residual(skip, output))
        self._keep("residual", output)
        return output

    def _keep(self, role: str, tensor: Tensor) -> None:
        self._versions.append((role, tensor, tensor._version))

    def _refuse(self, role: str, found: list[Any], what: str) -> None:
        if not found:
            raise UserError(f"the network has no {what}")
        if any(kept == role and tensor._version != version for kept, tensor, version in self._versions):
            raise UserError(f"the network overwrites activations in place, so that its {what} cannot be seen")


def _are_activations(left: Any, right: Any) -> bool:
    """Whether two terms are computed tensors of one shape with tokens or pixels; parameters and constants are not."""
    both = isinstance(left, Tensor) and isinstance(right, Tensor)
    return both and left.dim() > 2 and left.shape == right.shape and not left.is_leaf and not right.is_leaf


def by_image(activation: Tensor, images: int, channels_second: bool = False) -> Tensor:
    """An activation as (images, tokens, channels); tokens may come first, if they are not as many as the images."""
    if channels_second:
        return activation.flatten(2).transpose(1, 2)
    if activation.dim() == 3 and len(activation) != images and activation.shape[1] == images:
        return activation.transpose(0, 1)
    return activation.reshape(images, -1, activation.shape[-1])


def rows(activation: Tensor) -> Tensor:
    """All tokens (or pixels, where channels come second) of all images as rows, channels as columns."""
    last = activation.movedim(1, -1) if activation.dim() == 4 else activation
    return last.reshape(-1, last.shape[-1])
