r"""Dot-product attention as modules: one head as in the textbook, and several heads in one computation.

$\mathrm{Attention}(Q, K, V) = \mathrm{softmax}(QK^T/\sqrt{d_k})\,V$ (Vaswani et al. 2017).
Shapes: B batch, N tokens, D width, I inner width, H heads, E head width.
"""

from torch import Tensor, nn

from vitruvius import kernels
from vitruvius.kernels import Mask


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
    """Several heads side by side, then one linear map; equal to `ScaledDotProductAttention` per head."""

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
        self.heads, self.head_dim = heads, head_dim
        # Two functions rather than the kernel's module, which copy.deepcopy cannot copy.
        self.attend, self.weigh = kernels.get(kernel).attend, kernels.get(kernel).weights
        # One product instead of three per head.
        self.qkv = nn.Linear(width, 3 * heads * head_dim, bias=qkv_bias)
        self.out = nn.Linear(heads * head_dim, width, bias=out_bias)

    def forward(self, x_BND: Tensor, mask: Mask = None) -> Tensor:
        """The heads' outputs, concatenated and mapped back to the width."""
        q_BHNE, k_BHNE, v_BHNE = self.project(x_BND)
        heads_BHNE = self.attend(q_BHNE, k_BHNE, v_BHNE, mask)
        return self.out(heads_BHNE.transpose(1, 2).flatten(2))

    def project(self, x_BND: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of all heads, each (B, H, N, E)."""
        B, N, _ = x_BND.shape
        q, k, v = self.qkv(x_BND).view(B, N, 3, self.heads, self.head_dim).permute(2, 0, 3, 1, 4).unbind(0)
        return q, k, v
