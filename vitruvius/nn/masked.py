"""A masked autoencoder (He et al. 2022): a ViT encodes some patches, a small decoder reconstructs the rest.

Shapes: B batch, C channels, n patches, v visible ones, N tokens (the patches and the class token), P entries
of a patch, D width, E the decoder's width.
"""

from typing import NamedTuple

import torch
from torch import Generator, Tensor, nn

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.nn.seeding import torch_seeded
from vitruvius.nn.vit import EncoderLayer, ViT, patches, sinusoidal, unpatch

PATCH_EPS = 1e-6
"""Added to the variance of a patch, so that a blank patch is divided by 0.001 and not by zero."""


class Masking(NamedTuple):
    """Indices of the visible patches in random order, and the position of each patch in (visible, hidden)."""

    visible_Bv: Tensor
    restore_Bn: Tensor

    def hidden(self) -> Tensor:
        """Whether each patch, in reading order, is hidden; (B, n) bool."""
        return self.restore_Bn >= self.visible_Bv.shape[1]


def hidden_count(patches: int, share: float) -> int:
    """The number of patches that a mask fraction hides; at least one stays visible.

    >>> hidden_count(16, 0.75), hidden_count(49, 0.75)
    (12, 37)
    """
    count = round(patches * share)
    if not 0 <= count < patches:
        raise UserError(f"mask {share}: of {patches} patches 0 to {patches - 1} can be hidden, not {count}")
    return count


def hide(batch: int, patches: int, share: float, generator: Generator | None) -> Masking:
    """Draw the visible patches of each image from `generator`; without one the patches stay in order."""
    visible = patches - hidden_count(patches, share)
    if generator is None:
        order_Bn = torch.arange(patches).expand(batch, -1)
    else:
        order_Bn = torch.rand(batch, patches, generator=generator).argsort(1)
    return Masking(order_Bn[:, :visible], order_Bn.argsort(1))


class MaskedAutoencoder(nn.Module):
    """A ViT encoder of the visible patches and a decoder of all, with mask tokens for hidden ones."""

    positions: Tensor

    def __init__(self, arch: Arch, decoder: Arch, normalise: bool = False) -> None:
        super().__init__()
        if arch.stem:
            why = "the convolutions of its stem see hidden patches through their neighbours"
            raise UserError(f"stem {', '.join(map(str, arch.stem))}: a masked autoencoder takes none: {why}")
        self.normalise = normalise  # targets are patches of mean 0 and standard deviation 1
        self.encoder = ViT(arch)
        self.encoder.head.requires_grad_(False)  # nothing here reads it
        self.widen = nn.Linear(arch.width, decoder.width)
        self.mask_token = nn.Parameter(torch.empty(1, 1, decoder.width))
        self.register_buffer("positions", sinusoidal(arch.tokens, decoder.width)[None], persistent=False)
        self.layers = nn.ModuleList(EncoderLayer(decoder, layer) for layer in decoder.layers)
        self.norm = nn.LayerNorm(decoder.width, eps=decoder.norm_eps)
        self.draw = nn.Linear(decoder.width, arch.patch_dim)
        nn.init.trunc_normal_(self.mask_token, std=0.02)

    @property
    def patches(self) -> int:
        """Patches of one image."""
        return self.encoder.arch.patches

    def forward(self, image_BCHW: Tensor) -> Tensor:
        """Reconstruct images of which every patch is visible."""
        return self.picture(image_BCHW, hide(len(image_BCHW), self.patches, 0.0, None))

    def encode(self, image_BCHW: Tensor) -> Tensor:
        """The pooled features of whole images, (B, D)."""
        return self.encoder.features(image_BCHW)

    def predict(self, image_BCHW: Tensor, masking: Masking) -> Tensor:
        """Reconstruct all patches, hidden and visible ones, (B, n, P)."""
        seen_BvD = self.encoder.encode(self._visible(image_BCHW, masking))
        x_BNE = self._unshuffled(self.widen(seen_BvD), masking) + self.positions
        for layer in self.layers:
            x_BNE = layer(x_BNE)
        return self.draw(self.norm(x_BNE))[:, self._extra :]

    def target(self, image_BCHW: Tensor) -> Tensor:
        """The target of `predict`, (B, n, P)."""
        patch_BnP = patches(image_BCHW, self.encoder.arch.patch)
        if not self.normalise:
            return patch_BnP
        mean_Bn1, std_Bn1 = _statistics(patch_BnP)
        return (patch_BnP - mean_Bn1) / std_Bn1

    def picture(self, image_BCHW: Tensor, masking: Masking) -> Tensor:
        """The reconstruction as an image; with `normalise` each patch gets its mean and deviation back."""
        patch_BnP = self.predict(image_BCHW, masking)
        if self.normalise:
            mean_Bn1, std_Bn1 = _statistics(patches(image_BCHW, self.encoder.arch.patch))
            patch_BnP = patch_BnP * std_Bn1 + mean_Bn1
        return unpatch(patch_BnP, self.encoder.arch.patch, self.encoder.arch.channels)

    def covered(self, image_BCHW: Tensor, masking: Masking, cover_BCHW: Tensor | None = None) -> Tensor:
        """The image with its hidden patches blank or taken from another image."""
        arch = self.encoder.arch
        blank = torch.zeros_like(image_BCHW) if cover_BCHW is None else cover_BCHW
        hidden_Bn1 = masking.hidden().to(image_BCHW.device)[:, :, None]
        chosen = torch.where(hidden_Bn1, patches(blank, arch.patch), patches(image_BCHW, arch.patch))
        return unpatch(chosen, arch.patch, arch.channels)

    @property
    def _extra(self) -> int:
        return int(self.encoder.arch.class_token)

    def _visible(self, image_BCHW: Tensor, masking: Masking) -> Tensor:
        """The tokens that the encoder reads: positions are added first, then hidden patches are left out."""
        x_BND = self.encoder.embed(image_BCHW)
        index_BvD = masking.visible_Bv.to(x_BND.device)[:, :, None].expand(-1, -1, x_BND.shape[2])
        seen_BvD = x_BND[:, self._extra :].gather(1, index_BvD)
        return torch.cat([x_BND[:, : self._extra], seen_BvD], dim=1)

    def _unshuffled(self, x_BvE: Tensor, masking: Masking) -> Tensor:
        """Insert mask tokens and put all patches in reading order after the class token, (B, N, E)."""
        first, seen = x_BvE[:, : self._extra], x_BvE[:, self._extra :]
        hidden = self.patches - seen.shape[1]
        shuffled = torch.cat([seen, self.mask_token.expand(len(seen), hidden, -1)], dim=1)
        index_BnE = masking.restore_Bn.to(seen.device)[:, :, None].expand(-1, -1, seen.shape[2])
        return torch.cat([first, shuffled.gather(1, index_BnE)], dim=1)


def build(arch: Arch, decoder: Arch, normalise: bool, seed: int) -> MaskedAutoencoder:
    """A masked autoencoder with weights drawn from a seed; the global RNG is left as it was."""
    with torch_seeded(seed):
        return MaskedAutoencoder(arch, decoder, normalise)


def refuse_if_too_big(arch: Arch, decoder: Arch, batch: int) -> None:
    """Refuse an encoder and a decoder that do not fit into memory together; every patch counts as visible."""
    both = [cost.cost(part) for part in (arch, decoder)]
    need, have = sum(one.training_bytes(batch) for one in both), cost.memory_bytes()
    if need > 0.9 * have:
        raise UserError(
            f"a masked autoencoder of {sum(one.params for one in both):,} parameters does not fit: training "
            f"it with batch {batch} needs about {need / 2**30:,.1f} GiB, this machine has "
            f"{have / 2**30:,.1f} GiB; --decoder-width and --decoder-depth make its decoder"
        )


def decoder_for(arch: Arch, width: int, depth: int) -> Arch:
    """A small decoder for the patches of a network: four heads, MLP of four times the width, no dropout."""
    if width % 4:
        raise UserError(f"decoder width {width}: choose a multiple of 4, one part for each head")
    common = arch.model_dump(include={"image", "channels", "patch", "class_token", "activation", "norm_eps"})
    return Arch(**common, width=width, depth=depth, heads=4, mlp=4 * width, pooling="mean")


def _statistics(patch_BnP: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of the entries of each patch, each (B, n, 1)."""
    variance, mean = torch.var_mean(patch_BnP, dim=-1, keepdim=True, correction=0)
    return mean, (variance + PATCH_EPS).sqrt()
