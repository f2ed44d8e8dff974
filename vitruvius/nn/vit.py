"""The Vision Transformer that an `Arch` describes (Dosovitskiy et al. 2021).

Shapes: B batch, C channels, P patch side, n patches, N tokens, D width, K classes.
"""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch, Layer
from vitruvius.nn.attention import MultiHeadAttention, is_hooked
from vitruvius.nn.dropout import Dropout, drop_path
from vitruvius.nn.seeding import torch_seeded

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"gelu": nn.GELU, "relu": nn.ReLU, "silu": nn.SiLU}
ACTIVATIONS["gelu_tanh"] = partial(nn.GELU, approximate="tanh")


class EncoderLayer(nn.Module):
    """A pre-norm layer: norm, attention, dropout, residual; norm, MLP, dropout, residual.

    With `layer_scale` what each half adds is first multiplied by a learned vector (Touvron et al. 2021).
    """

    def __init__(self, arch: Arch, layer: Layer) -> None:
        super().__init__()
        width = arch.width
        self.norm1 = nn.LayerNorm(width, eps=arch.norm_eps)
        self.attention = MultiHeadAttention(
            width, layer.heads, layer.head_dim, arch.kernel, qkv_bias=arch.qkv_bias, out_bias=arch.out_bias
        )
        self.dropout = Dropout(arch.dropout)
        self.norm2 = nn.LayerNorm(width, eps=arch.norm_eps)
        self.mlp = nn.Sequential(
            nn.Linear(width, layer.mlp),
            ACTIVATIONS[arch.activation](),
            Dropout(arch.dropout),
            nn.Linear(layer.mlp, width),
            Dropout(arch.dropout),
        )
        self.drop_path = 0.0
        """Probability with which a training sample skips a half of this layer; a setting of the training."""
        self.scale1, self.scale2 = (
            nn.Parameter(torch.full((width,), arch.layer_scale)) if arch.layer_scale else None
            for _ in range(2)
        )

    def forward(self, x_BND: Tensor, first: int | None = None) -> Tensor:
        """The tokens after this layer, all or only the `first`."""
        x_BND = (x_BND if first is None else x_BND[:, :first]) + self.mix(x_BND, first)
        return x_BND + self.transform(x_BND)

    def mix(self, x_BND: Tensor, first: int | None = None) -> Tensor:
        """What attention adds to the tokens, all or only the `first`."""
        return self._added(self.dropout(self.attention(self.norm1(x_BND), first=first)), self.scale1)

    def transform(self, x_BND: Tensor) -> Tensor:
        """What the MLP adds to the tokens."""
        return self._added(self.mlp(self.norm2(x_BND)), self.scale2)

    def _added(self, x_BND: Tensor, scale_D: Tensor | None) -> Tensor:
        return drop_path(x_BND if scale_D is None else x_BND * scale_D, self.drop_path, self.training)


class ViT(nn.Module):
    """A linear patch map, a pre-norm encoder, a linear head on the class token or the mean of the patches."""

    def __init__(self, arch: Arch) -> None:
        cost.refuse_if_too_big(arch)
        super().__init__()
        self.arch = arch
        self.stem = _stem(arch) if arch.stem else None
        self.patch_map = nn.Linear(arch.mapped_dim, arch.width)
        self.class_token = nn.Parameter(torch.empty(1, 1, arch.width)) if arch.class_token else None
        if arch.positions == "learned":
            self.positions: Tensor | None = nn.Parameter(torch.empty(1, arch.tokens, arch.width))
        elif arch.positions == "sinusoidal":
            self.register_buffer("positions", sinusoidal(arch.tokens, arch.width)[None], persistent=False)
        else:
            self.positions = None
        self.dropout = Dropout(arch.dropout)
        self.layers = nn.ModuleList(EncoderLayer(arch, layer) for layer in arch.layers)
        self.norm = nn.LayerNorm(arch.width, eps=arch.norm_eps)
        self.head = nn.Linear(arch.width, arch.classes)
        self.recomputes = (
            False  # keep the inputs of the layers only and compute them again in the backward pass
        )
        self._initialise()

    def forward(self, image_BCHW: Tensor) -> Tensor:
        """Class scores (logits), (B, K)."""
        return self.head(self.features(image_BCHW))

    def features(self, image_BCHW: Tensor) -> Tensor:
        """What the head reads, (B, D)."""
        return self.pool(self.encode(self.embed(image_BCHW), self._tokens_read()))

    def embed(self, image_BCHW: Tensor) -> Tensor:
        """Patch tokens behind the class token, with positions, (B, N, D)."""
        x_BND = self.patch_map(self.cut(image_BCHW))
        if self.class_token is not None:
            x_BND = torch.cat([self.class_token.expand(x_BND.shape[0], -1, -1), x_BND], dim=1)
        if self.positions is not None:
            x_BND = x_BND + self.positions
        return self.dropout(x_BND)

    def cut(self, image_BCHW: Tensor) -> Tensor:
        """What the patch map reads: the patches of the image, or of what the stem makes of it, (B, n, P)."""
        x_BCHW = image_BCHW if self.stem is None else self.stem(image_BCHW)
        return patches(x_BCHW, self.arch.mapped_patch)

    def encode(self, x_BND: Tensor, first: int | None = None) -> Tensor:
        """The tokens after all layers and the final norm, unless that follows the pooling.

        With `first` only so many are computed in the last layer: all others serve them as keys and values.
        """
        recompute = self.recomputes and self.training
        for index, layer in enumerate(self.layers):
            wanted = () if first is None or index < len(self.layers) - 1 else (first,)
            x_BND = (
                checkpoint(layer, x_BND, *wanted, use_reentrant=False) if recompute else layer(x_BND, *wanted)
            )
        return self.norm(x_BND) if self.arch.final_norm == "tokens" else x_BND

    def pool(self, x_BND: Tensor) -> Tensor:
        """One vector per image: the class token, or the mean of the patch tokens without it."""
        first = int(self.arch.class_token)
        pooled_BD = x_BND[:, 0] if self.arch.pooling == "cls" else x_BND[:, first:].mean(1)
        return pooled_BD if self.arch.final_norm == "tokens" else self.norm(pooled_BD)

    def _tokens_read(self) -> int | None:
        """How many tokens of the last layer are needed, None for all; all are where somebody watches them."""
        last, count = self.layers[-1], cost.last_tokens(self.arch)
        assert isinstance(last, EncoderLayer)
        if count == self.arch.tokens or not last.attention.may_skip:
            return None
        return None if any(map(is_hooked, (self.norm, *last.modules()))) else count

    def freeze(self, layers: int) -> None:
        """Keep the weights of the embedding and of the first layers as they are; 0 freezes nothing."""
        if not layers:
            return
        self.patch_map.requires_grad_(False)
        if self.stem is not None:
            self.stem.requires_grad_(False)
        for token in (self.class_token, self.positions):
            if isinstance(token, nn.Parameter):
                token.requires_grad_(False)
        for layer in self.layers[:layers]:
            layer.requires_grad_(False)

    def set_drop_path(self, rate: float) -> None:
        """Let training samples skip halves of layers: never in the first, with this probability in the last.

        The probability grows linearly with depth (Huang et al. 2016). No weights depend on it.
        """
        last = len(self.layers) - 1
        for index, layer in enumerate(self.layers):
            assert isinstance(layer, EncoderLayer)
            layer.drop_path = rate * index / last if last else rate

    def _initialise(self) -> None:
        """PyTorch's defaults with unit-normal tokens, or the public convention.

        That is a truncated normal of deviation 0.02 and zero biases, in which the patch map keeps PyTorch's
        default, as the convolution it stands for does. Small networks learn slower from it: after 940 steps
        on MNIST (mnist-slim, 10,000 images) 63 % of validation images were right, 93 % with larger tokens.
        """
        public = self.arch.init == "public"
        for token in (self.class_token, self.positions):
            if isinstance(token, nn.Parameter):
                nn.init.trunc_normal_(token, std=0.02 if public else 1.0)
        if not public:
            return
        for module in (*self.layers.modules(), self.head):
            if isinstance(module, nn.Linear):
                nn.init.trunc_normal_(module.weight, std=0.02)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)


def build(arch: Arch, seed: int) -> ViT:
    """The network of an Arch with weights drawn from a seed; the global RNG is left as it was."""
    with torch_seeded(seed):
        return ViT(arch)


def _stem(arch: Arch) -> nn.Sequential:
    """3x3 convolutions, the last ones with stride 2, each before an activation (Xiao et al. 2021).

    Their weights are drawn so that the size of the activations stays (He et al. 2015): with PyTorch's default
    it would shrink to a tenth, and the positions would drown the image.
    """
    parts: list[nn.Module] = []
    strides = (1,) * (len(arch.stem) - arch.halvings) + (2,) * arch.halvings
    for before, after, stride in zip((arch.channels, *arch.stem), arch.stem, strides, strict=False):
        convolution = nn.Conv2d(before, after, 3, stride=stride, padding=1)
        nn.init.kaiming_normal_(convolution.weight, nonlinearity="relu")
        assert convolution.bias is not None
        nn.init.zeros_(convolution.bias)
        parts += [convolution, ACTIVATIONS[arch.activation]()]
    return nn.Sequential(*parts)


def patches(image_BCHW: Tensor, side: int) -> Tensor:
    """Square patches in reading order, each as a convolution reads it (channel, row, column); (B, n, C P P).

    >>> patches(torch.arange(16.0).view(1, 1, 4, 4), 2)[0, 1].tolist()
    [2.0, 3.0, 6.0, 7.0]
    """
    B, C, height, width = image_BCHW.shape
    rows, columns = height // side, width // side
    grid = image_BCHW.reshape(B, C, rows, side, columns, side).permute(0, 2, 4, 1, 3, 5)
    return grid.reshape(B, rows * columns, C * side * side)


def unpatch(patches_BnP: Tensor, side: int, channels: int) -> Tensor:
    """The image that patches came from: the inverse of `patches`, for square images."""
    B, n, _ = patches_BnP.shape
    rows = math.isqrt(n)
    grid = patches_BnP.reshape(B, rows, rows, channels, side, side).permute(0, 3, 1, 4, 2, 5)
    return grid.reshape(B, channels, rows * side, rows * side)


def sinusoidal(tokens: int, width: int) -> Tensor:
    r"""The positions of Vaswani et al. (2017), (N, D): $\sin(p/10000^{2i/D})$ and its $\cos$, interleaved.

    >>> sinusoidal(2, 4)[0].tolist()
    [0.0, 1.0, 0.0, 1.0]
    """
    position_N1 = torch.arange(tokens, dtype=torch.float64)[:, None]
    frequency = torch.exp(-math.log(10_000.0) * torch.arange(0, width, 2, dtype=torch.float64) / width)
    table_ND = torch.empty(tokens, width, dtype=torch.float64)
    table_ND[:, 0::2] = torch.sin(position_N1 * frequency)
    table_ND[:, 1::2] = torch.cos(position_N1 * frequency)[:, : width // 2]
    return table_ND.to(torch.get_default_dtype())
