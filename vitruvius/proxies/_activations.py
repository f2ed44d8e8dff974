"""Record the activations of a forward pass by the operations it calls, whatever its modules are named.

A linear map is a call of `linear` or a convolution, an activation function one of `NONLINEAR`, a residual
step the sum of two activations of the same shape. The products inside `nn.MultiheadAttention` are one
operation and are not recorded; our own attention is run `unfolded`, so that its linear maps are those of its
parameters and not products of them. Weights of these two are recorded by hooks on their modules. Attention of
other libraries is a call of `scaled_dot_product_attention`, or a softmax over the last of four dimensions;
its projections are the linear maps of one input directly before it and the linear map directly after it.

Shapes: B batch, H heads, N queries, M keys.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from inspect import signature
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from vitruvius.core.errors import UserError
from vitruvius.nn import attention_maps

LINEAR = {functional.linear, functional.conv1d, functional.conv2d, functional.conv3d}
SUM = {torch.add, Tensor.add, Tensor.add_, Tensor.__add__, Tensor.__iadd__, Tensor.__radd__}
SOFTMAX = {functional.softmax, torch.softmax, Tensor.softmax}
FUSED_ARGUMENTS = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
NAMES = "gelu relu relu_ relu6 silu elu elu_ selu selu_ celu leaky_relu leaky_relu_ prelu mish softplus"
NAMES += " softsign tanh tanh_ sigmoid sigmoid_ logsigmoid hardswish hardtanh hardsigmoid"
NONLINEAR = {getattr(home, name, None) for home in (functional, torch, Tensor) for name in NAMES.split()}
NONLINEAR.discard(None)


class Linear(NamedTuple):
    """One call of a linear map; output channels are the last dimension, after a convolution the second."""

    input: Tensor
    weight: Tensor
    output: Tensor


class Residual(NamedTuple):
    """One residual step: the skip connection, and its sum with the branch computed from it."""

    skip: Tensor
    output: Tensor


class Attention(NamedTuple):
    """One attention operation: its weights, and what came before it."""

    weights: Tensor  # (B, H, N, M)
    linear: int  # linear maps before it
    steps: int  # activation functions and residual steps before it


class Activations(TorchFunctionMode):
    """A context that records the activations of a forward pass by role, as references."""

    def __init__(self) -> None:
        super().__init__()
        self.all_linear: list[Linear] = []
        self.all_nonlinear: list[Tensor] = []
        self.all_residual: list[Residual] = []
        self._versions: list[tuple[str, Tensor, int]] = []
        self.all_attention: list[Attention] = []
        self._steps: list[int] = []  # before each linear map, activation functions and residual steps

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
        """The input of the last linear map, the head."""
        if not self.all_linear:
            raise UserError("the network has no linear maps or convolutions")
        return self.all_linear[-1].input

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the operation, and record it if it has a role."""
        kwargs = kwargs or {}
        if func in LINEAR:
            return self._record_linear(func, args, kwargs)
        if func in SUM and len(args) == 2 and not kwargs and _are_activations(*args):
            return self._record_residual(func, *args)
        if func is functional.scaled_dot_product_attention:
            return self._record_fused_attention(args, kwargs)
        if func in SOFTMAX:
            return self._record_softmax(func, args, kwargs)
        if func in NONLINEAR:
            self._record_nonlinear(func, args, kwargs)
        return func(*args, **kwargs)

    def _record_linear(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        output = func(*args, **kwargs)
        input, weight = (*args, *(kwargs[name] for name in ("input", "weight")[len(args) :]))[:2]
        self.all_linear.append(Linear(input, weight, output))
        self._versions.append(("linear", output, output._version))
        self._steps.append(self._count_steps())
        return output

    def _record_nonlinear(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        input = args[0] if args else kwargs["input"]
        # The only option of these functions that is ever True is to overwrite their input.
        options = (*args[1:], *kwargs.values())
        in_place = func.__name__.endswith("_") or any(option is True for option in options)
        kept = input.detach().clone() if in_place else input
        self.all_nonlinear.append(kept)
        self._versions.append(("nonlinear", kept, kept._version))

    def _record_residual(self, func: Any, left: Any, right: Any) -> Tensor:
        # The skip connection was computed before the branch that is computed from it.
        skip = min(left, right, key=lambda tensor: tensor.grad_fn._sequence_nr())
        self._versions.append(("residual", skip, skip._version))
        output = func(left, right)
        self.all_residual.append(Residual(skip, output))
        self._versions.append(("residual", output, output._version))
        return output

    def _record_fused_attention(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        output = functional.scaled_dot_product_attention(*args, **kwargs)
        call = dict(zip(FUSED_ARGUMENTS, args, strict=False)) | kwargs
        self._record_attention(_fused_weights(**call))
        return output

    def _record_softmax(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        output = func(*args, **kwargs)
        dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
        if output.dim() == 4 and dim in (-1, 3):
            self._record_attention(output)
        return output

    def _record_attention(self, weights: Tensor) -> None:
        weights_BHNM = weights.detach() if weights.dim() == 4 else weights.detach()[:, None]
        self.all_attention.append(Attention(weights_BHNM, len(self.all_linear), self._count_steps()))

    def projections(self, call: Attention) -> list[Linear]:
        """The linear maps of an attention operation: those of one input before it, and the one after it."""
        before = self.all_linear[: call.linear]
        found = [one for one in before if one.input is before[-1].input]
        after = self.all_linear[call.linear : call.linear + 1]
        return found + [one for one in after if self._steps[call.linear] == call.steps]

    def _count_steps(self) -> int:
        return len(self.all_nonlinear) + len(self.all_residual)

    def _refuse(self, role: str, found: list[Any], what: str) -> None:
        if not found:
            raise UserError(f"the network has no {what}")
        if any(noted == role and tensor._version != version for noted, tensor, version in self._versions):
            raise UserError(f"the network overwrites activations in place, so that its {what} cannot be seen")


def _are_activations(left: Any, right: Any) -> bool:
    """Whether both are computed tensors of one shape with tokens or pixels, not parameters or constants."""
    both = isinstance(left, Tensor) and isinstance(right, Tensor)
    return both and left.dim() > 2 and left.shape == right.shape and not left.is_leaf and not right.is_leaf


def by_image(activation: Tensor, images: int, channels_second: bool = False) -> Tensor:
    """Reshape to (images, tokens, channels); tokens may come first if they are not as many as the images."""
    if channels_second:
        return activation.flatten(2).transpose(1, 2)
    if activation.dim() == 3 and len(activation) != images and activation.shape[1] == images:
        return activation.transpose(0, 1)
    return activation.reshape(images, -1, activation.shape[-1])


def token_rows(activation: Tensor) -> Tensor:
    """Reshape to a row per token (or pixel, if channels are second) of all images; columns are channels."""
    last = activation.movedim(1, -1) if activation.dim() == 4 else activation
    return last.reshape(-1, last.shape[-1])


def token_entropy(tokens_TC: Tensor) -> float:
    """The entropy of the principal components of tokens: in how many directions they spread."""
    centred_TC = tokens_TC - tokens_TC.mean(0)
    # The products of rows have the same eigenvalues as those of columns, apart from zeros.
    wide = len(centred_TC) < centred_TC.shape[1]
    products = centred_TC @ centred_TC.T if wide else centred_TC.T @ centred_TC
    values = torch.linalg.eigvalsh(products).clamp_min(0)
    return torch.special.entr(values / values.sum()).sum().item()


@torch.no_grad()
def _fused_weights(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """The weights that `scaled_dot_product_attention` computes and does not return."""
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], -3)
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(hidden, -torch.inf)
    if attn_mask is not None:
        boolean = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, -torch.inf) if boolean else scores + attn_mask
    return scores.softmax(-1)


@contextmanager
def attention_weights(model: nn.Module) -> Iterator[list[Tensor]]:
    """A list to which every forward pass inside appends each layer's attention weights, (B, H, N, M)."""
    with ExitStack() as hooks, attention_maps.recorded(model) as weights:
        for module in model.modules():
            if isinstance(module, nn.MultiheadAttention):
                before = module.register_forward_pre_hook(_request_weights, with_kwargs=True)
                hooks.callback(before.remove)
                after = module.register_forward_hook(lambda module, inputs, output: weights.append(output[1]))
                hooks.callback(after.remove)
        yield weights


def _request_weights(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
    """Make a call of `nn.MultiheadAttention` return the weights of each head as its second result."""
    call = signature(module.forward).bind(*args, **kwargs)
    call.arguments.update(need_weights=True, average_attn_weights=False)
    return call.args, call.kwargs
