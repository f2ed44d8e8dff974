"""Convert weights between our ViT and the layouts of timm and transformers; read safetensors.

A layout is a table of names, `{i}` standing for the layer. Two things differ beyond names: the public patch
map is a convolution (D, C, P, P) where ours is linear (D, C P P), and some layouts keep query, key and value
apart. timm names the last norm `fc_norm` where it follows the pooling.

Shapes: N tokens, n patches, D width.
"""

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import interpolate

from vitruvius.arch.arch import Arch
from vitruvius.core import files
from vitruvius.core.errors import UserError
from vitruvius.nn.vit import ViT

_NAMES = {
    "vitruvius": """class_token positions patch_map.* layers.{i}.norm1.* layers.{i}.attention.qkv.*
        layers.{i}.attention.out.* layers.{i}.norm2.* layers.{i}.mlp.0.* layers.{i}.mlp.3.* norm.* head.*
        layers.{i}.scale1 layers.{i}.scale2""",
    "timm": """cls_token pos_embed patch_embed.proj.* blocks.{i}.norm1.* blocks.{i}.attn.qkv.*
        blocks.{i}.attn.proj.* blocks.{i}.norm2.* blocks.{i}.mlp.fc1.* blocks.{i}.mlp.fc2.* norm.* head.*
        blocks.{i}.ls1.gamma blocks.{i}.ls2.gamma""",
    "transformers": """vit.embeddings.cls_token vit.embeddings.position_embeddings
        vit.embeddings.patch_embeddings.projection.* vit.layers.{i}.layernorm_before.*
        vit.layers.{i}.attention.q_proj.*|vit.layers.{i}.attention.k_proj.*|vit.layers.{i}.attention.v_proj.*
        vit.layers.{i}.attention.o_proj.* vit.layers.{i}.layernorm_after.* vit.layers.{i}.mlp.fc1.*
        vit.layers.{i}.mlp.fc2.* vit.layernorm.* classifier.* - -""",
    # The names before version 5 of transformers, which most published checkpoints have.
    "transformers4": """vit.embeddings.cls_token vit.embeddings.position_embeddings
        vit.embeddings.patch_embeddings.projection.* vit.encoder.layer.{i}.layernorm_before.*
        PART.query.*|PART.key.*|PART.value.* vit.encoder.layer.{i}.attention.output.dense.*
        vit.encoder.layer.{i}.layernorm_after.* vit.encoder.layer.{i}.intermediate.dense.*
        vit.encoder.layer.{i}.output.dense.* vit.layernorm.* classifier.* - -""".replace(
        "PART", "vit.encoder.layer.{i}.attention.attention"
    ),
}
"""The names of each layout in the same order; `|` separates query, key and value, `-` is what it lacks."""
LAYOUTS = {layout: tuple(text.split()) for layout, text in _NAMES.items()}


def names(model: ViT, layout: str) -> dict[str, tuple[str, ...]]:
    """For each parameter of a model, its name (or its three names, for q, k and v) in a layout."""
    patterns = dict(zip(LAYOUTS["vitruvius"], LAYOUTS[layout], strict=True))
    found: dict[str, tuple[str, ...]] = {}
    for name in model.state_dict():
        words = name.split(".")
        if words[0] == "stem":
            if layout != "vitruvius":
                raise UserError(
                    f"the layout {layout} has no name for {name} (a network without stem has none)"
                )
            found[name] = (name,)
            continue
        layer = words[1] if words[0] == "layers" else ""
        leaf = words[-1] if words[-1] in ("weight", "bias") else ""
        ours = name.replace(f"layers.{layer}.", "layers.{i}.") if layer else name
        ours = ours.removesuffix(leaf) + "*" if leaf else ours
        theirs = patterns[ours].replace("{i}", layer).replace("*", leaf)
        if theirs == "-":
            raise UserError(f"the layout {layout} has no name for {name} (--set layer_scale=0 has none)")
        if layout == "timm" and ours == "norm.*" and model.arch.final_norm == "pooled":
            theirs = f"fc_{theirs}"
        found[name] = tuple(theirs.split("|"))
    return found


def export(model: ViT, layout: str) -> dict[str, Tensor]:
    """The weights of a model under the names and in the shapes of a layout."""
    weights: dict[str, Tensor] = {}
    for ours, theirs in names(model, layout).items():
        value = model.state_dict()[ours].detach()
        if ours == "patch_map.weight" and layout != "vitruvius":
            value = value.reshape(-1, model.arch.channels, model.arch.patch, model.arch.patch)
        weights.update(zip(theirs, value.chunk(len(theirs)), strict=True))
    return {name: value.contiguous() for name, value in weights.items()}


def _plain(weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename the weights of variants to those of a whole classifier.

    A bare encoder of transformers lacks the prefix, and its pooler serves no class.
    """
    found = dict(weights)
    if "embeddings.patch_embeddings.projection.weight" in found:
        found = {f"vit.{name}": value for name, value in found.items()}
    return {name: value for name, value in found.items() if not name.startswith("vit.pooler.")}


def layout_of(weights: Mapping[str, Tensor]) -> str:
    """The layout that the names of a file belong to."""
    marks = {
        "vitruvius": "patch_map.weight",
        "timm": "patch_embed.proj.weight",
        "transformers": "vit.layers.0.layernorm_before.weight",
        "transformers4": "vit.encoder.layer.0.layernorm_before.weight",
    }
    for layout, mark in marks.items():
        if mark in weights:
            return layout
    some = ", ".join(sorted(weights)[:3])
    raise UserError(f"weights of no known layout ({', '.join(marks)}): it holds {some}, ...")


@torch.no_grad()
def fill(
    model: ViT, weights: Mapping[str, Tensor], source: str = "weights", except_head: bool = False
) -> None:
    """Give a model the weights of any known layout; errors name every missing, unexpected or misshapen entry.

    `except_head` leaves the head as it is, for fine-tuning on other classes.
    """
    weights = _plain(weights)
    _refuse_other_norm(model, weights, source)
    wanted = names(model, layout_of(weights))
    if except_head:
        wanted = {ours: theirs for ours, theirs in wanted.items() if not ours.startswith("head.")}
        heads = ("head.", "classifier.")
        weights = {name: value for name, value in weights.items() if not name.startswith(heads)}
    known = {name for theirs in wanted.values() for name in theirs}
    _refuse(source, "lacks", sorted(known - weights.keys()))
    _refuse(source, "has unexpected", sorted(weights.keys() - known))
    state = model.state_dict()
    for ours, theirs in wanted.items():
        shape = state[ours].shape
        for name in theirs:
            found, needed = weights[name].shape, torch.Size((shape[0] // len(theirs), *shape[1:]))
            convolved = (shape[0], model.arch.channels, model.arch.patch, model.arch.patch)
            if found != needed and not (ours == "patch_map.weight" and found == convolved):
                shapes = f"shape {tuple(found)}, the network needs {tuple(needed)}"
                raise UserError(f"{source}: {name} has {shapes}")
        state[ours].copy_(torch.cat([weights[name] for name in theirs]).reshape(shape))


class Adapted(NamedTuple):
    """Weights that were fitted to a network, and what was done to them in words."""

    weights: dict[str, Tensor]
    has_head: bool
    """Whether the head fits: the number of classes is the same."""
    notes: tuple[str, ...]


def adapt(weights: Mapping[str, Tensor], arch: Arch) -> Adapted:
    """Fit weights to images of another size and to other classes.

    The grid of positions is interpolated as the library of the weights does it; a head for another number of
    classes is left out, to be learned anew.
    """
    found, notes = _plain(weights), []
    layout = layout_of(found)
    table = dict(zip(LAYOUTS["vitruvius"], LAYOUTS[layout], strict=True))
    name, head = table["positions"], table["head.*"].replace("*", "weight")
    if name in found and arch.positions == "learned":
        found[name], note = _positions(found[name], arch, antialias=not layout.startswith("transformers"))
        notes += [note] if note else []
    shape = tuple(found[head].shape) if head in found else None
    has_head = shape == (arch.classes, arch.width)
    return Adapted(found, has_head, tuple(notes))


def _positions(table_1ND: Tensor, arch: Arch, antialias: bool) -> tuple[Tensor, str]:
    """Return the positions for the grid of an Arch and what was done; a table that is no grid is returned."""
    if table_1ND.dim() != 3 or table_1ND.shape[1] == arch.tokens:
        return table_1ND, ""
    side, tokens = arch.image // arch.patch, table_1ND.shape[1]
    # A table for the patches alone (timm's no_embed_class) adds nothing to the class token.
    extra = int(arch.class_token and math.isqrt(tokens - 1) ** 2 == tokens - 1)
    first_1eD, grid_1nD = table_1ND[:, :extra], table_1ND[:, extra:]
    before = math.isqrt(grid_1nD.shape[1])
    if before**2 != grid_1nD.shape[1]:
        return table_1ND, ""
    note = ""
    if before != side:
        grid_1nD = resize_grid(grid_1nD, side, antialias)
        note = f"the position grid of {before} x {before} patches is interpolated to {side} x {side}"
    if extra < arch.class_token:
        first_1eD = torch.zeros_like(grid_1nD[:, :1])
    return torch.cat([first_1eD, grid_1nD], dim=1), note


def resize_grid(grid_1nD: Tensor, side: int, antialias: bool) -> Tensor:
    """Interpolate the position embeddings of a square grid of patches to another side: bicubic.

    timm filters against aliasing, transformers does not; in torch this also changes the cubic's coefficient.
    """
    before = math.isqrt(grid_1nD.shape[1])
    grid_1Dhw = grid_1nD.float().reshape(1, before, before, -1).permute(0, 3, 1, 2)
    grid_1Dhw = interpolate(grid_1Dhw, (side, side), mode="bicubic", align_corners=False, antialias=antialias)
    return grid_1Dhw.permute(0, 2, 3, 1).reshape(1, side * side, -1).to(grid_1nD.dtype)


def read(path: Path) -> dict[str, Tensor]:
    """The tensors of a safetensors file; pickles are refused unread."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    if path.suffix != ".safetensors":
        why = "a pickle (.pt, .pth, .bin) can run code"
        raise UserError(f"{path}: weights are read from .safetensors only; {why}")
    try:
        os.close(files.open_regular(path, follow=True))  # a pipe would be waited for
        return load_file(path)
    except (OSError, SafetensorError, ValueError) as error:
        raise UserError(f"{path}: not a readable safetensors file: {error}") from error


def _refuse_other_norm(model: ViT, weights: Mapping[str, Tensor], source: str) -> None:
    """Refuse timm weights whose last norm stands elsewhere: averaging patches, that is another function."""
    if "patch_embed.proj.weight" not in weights:
        return
    for name, norm in (("fc_norm.weight", "pooled"), ("norm.weight", "tokens")):
        if name in weights and model.arch.final_norm != norm:
            raise UserError(
                f"{source}: its last norm is {name.removesuffix('.weight')}, the network has final_norm "
                f"{model.arch.final_norm}: choose --set final_norm={norm}"
            )


def _refuse(source: str, what: str, entries: list[str]) -> None:
    if entries:
        more = f" and {len(entries) - 3} more" if len(entries) > 3 else ""
        raise UserError(f"{source}: {what} {', '.join(entries[:3])}{more}")
