r"""Dot-product attention as modules: one head as in the textbook, and several heads in one computation.

$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}(QK^T/\sqrt{d_k})\,V$ (Vaswani et al. 2017).
Shapes: B batch, N tokens, D width, I inner width, H heads, E head width.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn
from torch.compiler import is_dynamo_compiling
from torch.nn import functional

from vitruvius import kernels
from vitruvius.arch import cost
from vitruvius.kernels import Mask
from vitruvius.nn import batch_last


class ScaledDotProductAttention(nn.Module):
    """A single head: linear maps without bias, softmax over the keys, dropout on the weights."""

    def __init__(self, width: int, inner_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.query = nn.Linear(width, inner_dim, bias=False)
        self.key = nn.Linear(width, inner_dim, bias=False)
        self.value = nn.Linear(width, inner_dim, bias=False)
        self.softmax = nn.Softmax(dim=-1)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x_BND: Tensor) -> Tensor:
        """Weighted mean of the values for each token, (B, N, inner_dim)."""
        q_BNI, k_BNI, v_BNI = self.query(x_BND), self.key(x_BND), self.value(x_BND)
        scores_BNN = q_BNI @ k_BNI.transpose(-2, -1) / q_BNI.shape[-1] ** 0.5
        return self.dropout(self.softmax(scores_BNN)) @ v_BNI


class MultiHeadAttention(nn.Module):
    """Several heads side by side, then one linear map; equal to `ScaledDotProductAttention` per head.

    Where `cost.folds` says so, the weights are multiplied with one another before they meet the tokens; where
    only the first tokens ask, keys and values are never formed. The parameters, their gradients and the
    output are the same, but for rounding.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        head_dim: int,
        kernel: str = "softmax",
        *,
        qkv_bias: bool = False,
        out_bias: bool = True,
    ) -> None:
        super().__init__()
        self.heads, self.head_dim, self.kernel = heads, head_dim, kernel
        self.may_fold, self.may_skip = True, True
        # Two functions rather than the kernel's module, which copy.deepcopy cannot copy.
        self.attend, self.weigh = kernels.get(kernel).attend, kernels.get(kernel).weights
        # One product instead of three per head.
        self.qkv = nn.Linear(width, 3 * heads * head_dim, bias=qkv_bias)
        self.out = nn.Linear(heads * head_dim, width, bias=out_bias)

    def forward(self, x_BND: Tensor, mask: Mask = None, first: int | None = None) -> Tensor:
        """The heads' outputs of all tokens, or of the `first`, concatenated and mapped back to the width."""
        if mask is None and first is not None and self._is_softmax_of_plain_maps():
            return self._asked_by_first(x_BND, first)
        if mask is None and first is None and self._folds(x_BND):
            return self._folded(x_BND)
        if mask is None and first is None and self._puts_images_last(x_BND):
            return self._batch_last(x_BND)
        q_BHNE, k_BHNE, v_BHNE = self.project(x_BND)
        heads_BHNE = self.attend(q_BHNE[:, :, :first], k_BHNE, v_BHNE, mask)
        return self.out(heads_BHNE.transpose(1, 2).flatten(2))

    def project(self, x_BND: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of all heads, each (B, H, N, E)."""
        B, N, _ = x_BND.shape
        q, k, v = self.qkv(x_BND).view(B, N, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4).unbind(0)
        return q, k, v

    def _is_softmax_of_plain_maps(self) -> bool:
        """Whether products may be taken in another order: never past a hook on a map, or a replaced map."""
        return self.kernel == "softmax" and _is_plain(self.qkv) and _is_plain(self.out)

    def _folds(self, x_BND: Tensor) -> bool:
        """Whether this call multiplies the weights first."""
        if not self.may_fold or not cost.folds(self.kernel, x_BND.shape[1], x_BND.shape[2], self.head_dim):
            return False
        return self._is_softmax_of_plain_maps()

    def _puts_images_last(self, x_BND: Tensor) -> bool:
        """Whether this call is compiled for a CPU, with heads so narrow that loops beat matrix products."""
        if not (is_dynamo_compiling() and self.may_fold):
            return False
        exact = x_BND.dtype in (torch.float32, torch.float64) and not torch.is_autocast_enabled("cpu")
        if x_BND.device.type != "cpu" or not exact:
            return False
        suits = batch_last.suits(self.head_dim, x_BND.shape[1], x_BND.shape[0])
        return suits and self._is_softmax_of_plain_maps()

    def _batch_last(self, x_BND: Tensor) -> Tensor:
        """Attention with the images on the last axis: M = N x B columns, token after token."""
        B, N, D = x_BND.shape
        y_IM = self.qkv.weight @ x_BND.transpose(0, 1).reshape(N * B, D).mT
        y_IM = y_IM if self.qkv.bias is None else y_IM + self.qkv.bias[:, None]
        q_HENB, k_HENB, v_HENB = y_IM.view(3, self.heads, self.head_dim, N, B).unbind(0)
        heads_HENB = batch_last.attend(q_HENB, k_HENB, v_HENB, self.head_dim**-0.5)
        out_MD = self.out(heads_HENB.reshape(-1, N * B).mT)
        return out_MD.view(N, B, D).transpose(0, 1)

    def _asked_by_first(self, x_BND: Tensor, first: int) -> Tensor:
        r"""Attention of the `first` tokens alone, with the tokens themselves as keys and values.

        The score of query q for key j is $q \cdot (W_k x_j + b_k)$, which is $(W_k^T q) \cdot x_j$ but for a
        term that all keys share and softmax does not see; the mean of the values is $W_v$ times the mean of
        the tokens, plus $b_v$. Maps are applied to few queries instead of all tokens.
        """
        B, _, D = x_BND.shape
        q_HED, k_HED, v_HED = self.qkv.weight.view(3, self.heads, self.head_dim, D).unbind(0)
        q_I, v_I = (None, None) if self.qkv.bias is None else self.qkv.bias.view(3, -1)[::2].unbind(0)
        q_BQI = functional.linear(x_BND[:, :first], q_HED.reshape(-1, D), q_I) * self.head_dim**-0.5
        query_HMD = q_BQI.view(B * first, self.heads, self.head_dim).transpose(0, 1) @ k_HED  # M = B x first
        query_B1MD = query_HMD.transpose(0, 1).reshape(B, 1, first * self.heads, D)
        token_B1ND = x_BND.to(query_B1MD.dtype)[:, None]
        mean_B1MD = self.attend(query_B1MD, token_B1ND, token_B1ND, beta=1.0)
        heads_HME = mean_B1MD.view(B * first, self.heads, D).transpose(0, 1) @ v_HED.mT
        heads_BQI = heads_HME.transpose(0, 1).reshape(B, first, -1)
        return self.out(heads_BQI if v_I is None else heads_BQI + v_I)

    def _folded(self, x_BND: Tensor) -> Tensor:
        r"""Attention of all heads with the tokens themselves as keys and values.

        With $A = W_k^T W_q / \sqrt E$ and $a = W_k^T b_q / \sqrt E$ per head, the score of query i for key j
        is $(A x_i + a) \cdot x_j$. Terms with $b_k$ are the same for all keys and may be dropped, because
        softmax does not see them. As the weights of a query sum to 1, $b_v$ adds $W_o b_v$ to every output.
        """
        B, _, D = x_BND.shape
        q_HED, k_HED, v_HED = self.qkv.weight.view(3, self.heads, self.head_dim, D).unbind(0)
        scale = self.head_dim**-0.5
        score_ID = (k_HED.mT @ (q_HED * scale)).view(-1, D)
        out_HED = self.out.weight.view(D, self.heads, self.head_dim).permute(1, 2, 0)
        value_ID = (v_HED.mT @ out_HED).view(-1, D)
        shift_I: Tensor | None = None
        out_bias_D: Tensor | None = self.out.bias
        if self.qkv.bias is not None:
            q_HE, _, v_HE = self.qkv.bias.view(3, self.heads, self.head_dim).unbind(0)
            shift_I = (k_HED.mT @ (q_HE * scale)[:, :, None]).view(-1)
            out_bias_D = functional.linear(v_HE.flatten(), self.out.weight, self.out.bias)
        # The queries of all heads share the keys: one head with H times as many queries.
        query_B1MD = functional.linear(x_BND, score_ID, shift_I).view(B, 1, -1, D)
        token_B1ND = x_BND.to(query_B1MD.dtype)[:, None]
        mean_B1MD = self.attend(query_B1MD, token_B1ND, token_B1ND, beta=1.0)
        return functional.linear(mean_B1MD.reshape(B, -1, self.heads * D), value_ID.mT, out_bias_D)


@contextmanager
def in_full(model: nn.Module, may_fold: bool = False) -> Iterator[None]:
    """Make a network compute every layer for all tokens, by queries, keys and values unless it `may_fold`."""
    parts = [part for part in model.modules() if isinstance(part, MultiHeadAttention)]
    before = [(part.may_fold, part.may_skip) for part in parts]
    try:
        for part in parts:
            part.may_fold, part.may_skip = part.may_fold and may_fold, False
        yield
    finally:
        for part, (fold, skip) in zip(parts, before, strict=True):
            part.may_fold, part.may_skip = fold, skip


def _is_plain(module: nn.Module) -> bool:
    return type(module) is nn.Linear and not is_hooked(module)


def is_hooked(module: nn.Module) -> bool:
    """Whether somebody watches the inputs, outputs or gradients of a module."""
    hooks = (module._forward_hooks, module._forward_pre_hooks, module._backward_hooks)
    return any(hooks) or bool(module._backward_pre_hooks)
