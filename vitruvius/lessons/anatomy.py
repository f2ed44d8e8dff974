r"""A Vision Transformer part by part: shapes, parameters, multiply-adds, and what each part is for.

Shapes: N tokens, D width, M hidden width, h heads.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Self

from pydantic import BeforeValidator, model_validator

from vitruvius import lessons
from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.core.blocks import Bars
from vitruvius.lessons import Answer, Proof, Step
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    from torch import Tensor

SUBJECT = "vision transformers"
DEEPEST = 64


def _by_name(value: Any) -> Any:
    return tables.arch(value) if isinstance(value, str) else value


class Question(lessons.Question):
    """A network; the default is the base model of the Vision Transformer paper, 16 x 16 patches of 224 x 224 pixels."""

    arch: Annotated[Arch, BeforeValidator(_by_name)] = tables.arch("vit_base_patch16_224")
    """The fields of a network, the name of a preset, or a file NAME.json."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.arch.depth > DEEPEST:
            raise ValueError(f"arch has depth {self.arch.depth}: it needs at most {DEEPEST} to be shown part by part")
        cost.refuse_if_too_big(self.arch)
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """From the picture to the classes, then the sums."""
    arch, parts = question.arch, cost.parts(question.arch)
    whole = cost.cost(arch)
    yield from _input_steps(arch)
    yield from _layer_steps(arch)
    yield from _output_steps(arch)
    yield Step(
        says=f"All {len(parts)} parts in order, each with the shape it gives, its parameters and its multiply-adds for "
        f"one image, are listed in the answer: {whole.params:,} parameters and {whole.macs:,} multiply-adds in all.",
        value={"parameters": whole.params, "macs": whole.macs},
        figure=Bars(
            title="Where the parameters are",
            names=tuple(part.name for part in parts),
            values=tuple(float(part.params) for part in parts),
            y_label="parameters",
        ),
    )
    layers = [_entry(part.name, part.shape, part.params, part.macs) for part in parts]
    yield Answer(fields={"layers": layers, "parameters": whole.params, "macs": whole.macs})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The network itself: shapes, parameters, and operations as torch counts them."""
    found = _measured(question.arch)
    yield agree("layers", "the modules and torch's operation counter", answer["layers"], list(found))
    totals = {name: sum(entry[name] for entry in found) for name in ("parameters", "macs")}
    yield agree("totals", "sums over the modules", {name: answer[name] for name in totals}, totals)


def _input_steps(arch: Arch) -> Iterator[Step]:
    side, weights = arch.patch, arch.patch_dim * arch.width
    yield Step(
        says=f"A convolutional net slides small filters over all {arch.image} x {arch.image} pixels, in every layer. A "
        f"ViT cuts them once into {arch.patches} patches and treats these as words. One convolution is left, and it "
        f"hides here: the map of a patch is a convolution of kernel {side}, stride {side} and {arch.width} filters.",
        formula=rf"{arch.patches} \times ({arch.channels} \cdot {side}^2 = {arch.patch_dim}) \to "
        rf"{arch.patches} \times {arch.width}, \qquad {weights} \text{{ weights}}",
        value={"kernel": side, "stride": side, "filters": arch.width},
    )
    told = {
        "learned": f"a learned table of {arch.tokens} x {arch.width} = {arch.tokens * arch.width} numbers, where the "
        "original Transformer computes fixed sines and cosines. Nothing tells it that images have rows: it learns that",
        "sinusoidal": f"fixed sines and cosines, 0 parameters for {arch.tokens} places, as in the original Transformer",
        "none": f"nothing here, so the {arch.tokens} tokens are a set and the order of patches is lost",
    }[arch.positions]
    yield Step(
        says=f"Attention does not know the order of its tokens. Positions tell it: {told}.",
        formula=""
        if arch.positions == "none"
        else rf"z_0 = \text{{tokens}} + P, \quad P \in \mathbb{{R}}^{{{arch.tokens} \times {arch.width}}}",
        value={"tokens": arch.tokens, "positions": arch.positions},
    )


def _layer_steps(arch: Arch) -> Iterator[Step]:
    tokens, width, layer = arch.tokens, arch.width, arch.layers[0]
    inner = layer.heads * layer.head_dim
    yield Step(
        says=f"What replaces recurrence: a recurrent net reads {tokens} tokens one after the other, and the first "
        f"reaches the last through {tokens - 1} steps; attention connects every pair in 1 and works on all tokens at "
        f"once. The price is {tokens**2} pairs instead of {tokens} steps.",
        formula=rf"N = {tokens} \text{{ steps}} \to 1, \qquad N^2 = {tokens**2} \text{{ pairs}}",
        value={"steps": tokens, "path": tokens - 1, "pairs": tokens**2},
    )
    yield Step(
        says=f"Self-attention: each token asks (query), is asked (key) and answers (value), three maps of its own "
        f"{width} entries. Its {tokens} weights are computed from the tokens, so what is mixed depends on the input, "
        "near or far alike.",
        formula=rf"\operatorname{{softmax}}\left(\frac{{QK^T}}{{\sqrt{{{layer.head_dim}}}}}\right) V, \qquad "
        rf"{cost.attention_macs(arch.kernel, tokens, layer)} \text{{ multiply-adds}}",
        value=cost.attention_macs(arch.kernel, tokens, layer),
    )
    yield Step(
        says=f"{layer.heads} heads of {layer.head_dim} entries look in {layer.heads} ways at once; one head would "
        f"have to average them. It costs nothing extra: one head of {layer.heads} x {layer.head_dim} = {inner} entries "
        f"has {4 * width * inner} weights, too.",
        formula=rf"[H_1; \dots; H_{{{layer.heads}}}]\, W_o, \qquad W_o \in \mathbb{{R}}^{{{inner} \times {width}}}",
        value={"heads": layer.heads, "head_dim": layer.head_dim, "weights": 4 * width * inner},
    )
    share = 2 * width * layer.mlp / (2 * width * layer.mlp + 4 * width * inner)
    yield Step(
        says=f"The feed-forward part works on each token alone, {width} to {layer.mlp} and back with {arch.activation} "
        f"between: attention moves things, this transforms them. It holds {share:.0%} of a layer's weights.",
        formula=rf"W_2\, \phi(W_1 z + b_1) + b_2, \qquad 2 \cdot {width} \cdot {layer.mlp} = {2 * width * layer.mlp}",
        value=2 * width * layer.mlp,
    )
    yield _norm_step(arch)


def _norm_step(arch: Arch) -> Step:
    norms, width = 2 * arch.depth + 1, arch.width
    return Step(
        says=f"Layer normalisation brings each token's {width} entries to mean 0 and variance 1, then scales and "
        f"shifts them; it needs no batch and is the same in training and in use. There are {norms}, before each half "
        "and at the end; the original Transformer normalises after each sum, which is harder to train when deep.",
        formula=rf"\frac{{z - \bar z}}{{\sqrt{{\mathrm{{var}}(z) + \epsilon}}}} \odot \gamma + \beta, \qquad "
        rf"{norms} \cdot 2 \cdot {width} = {norms * 2 * width} \text{{ parameters}}",
        value=norms * 2 * width,
    )


def _output_steps(arch: Arch) -> Iterator[Step]:
    yield Step(
        says=f"Against the original Transformer a ViT is only the encoder: {arch.depth} layers with 1 attention each, "
        "no decoder, no cross-attention, no causal mask; patches instead of words, norms before the sums instead of "
        f"after, {arch.activation} in the feed-forward part where it had relu.",
        value={"layers": arch.depth, "attentions": arch.depth},
    )
    if arch.pooling == "cls":
        read = (
            f"a learned class token, put in front as token 1 of {arch.tokens}: it asks all patches and collects what "
        )
        read += "it needs; after the last norm the head reads it alone"
    else:
        read = f"the mean of the {arch.patches} patch tokens after the last norm, which the head reads"
    yield Step(
        says=f"The classes come from {read}, one linear map of {arch.width} entries to {arch.classes} scores. Softmax "
        "makes them probabilities.",
        formula=rf"y = W z + b, \qquad {arch.width} \cdot {arch.classes} + {arch.classes} = "
        rf"{arch.width * arch.classes + arch.classes}",
        value=arch.width * arch.classes + arch.classes,
    )


def _entry(name: str, shape: Any, parameters: int, macs: int) -> dict[str, Any]:
    return {"name": name, "shape": list(shape), "parameters": parameters, "macs": macs}


@lru_cache(maxsize=4)
def _measured(arch: Arch) -> tuple[dict[str, Any], ...]:
    """Every part of the network as torch sees it."""
    import torch

    from vitruvius.nn.vit import ViT, patches

    # Only the softmax kernel runs without memory for its numbers; the others ask for the device's precision.
    device = "meta" if arch.kernel == "softmax" else "cpu"
    with torch.device(device), torch.random.fork_rng(devices=[]):
        model, x = ViT(arch).eval(), torch.zeros(1, arch.channels, arch.image, arch.image)
    entries = []

    def stage(name: str, owners: list[Any], run: "Callable[[Tensor], Tensor]", x: "Tensor") -> "Tensor":
        y, macs = _counted(run, x)
        entries.append(_entry(name, y.shape[1:], sum(map(_size, owners)), macs))
        return y

    x = stage("patches", [model.patch_map], lambda x: model.patch_map(patches(x, arch.patch)), x)
    if (token := model.class_token) is not None:
        x = stage("class token", [token], lambda x: torch.cat([token, x], 1), x)
    owned: list[Any] = [model.positions] if arch.positions == "learned" else []
    x = stage("positions", owned, lambda x: x if model.positions is None else x + model.positions, x)
    for index, layer in enumerate(model.layers):
        attend, mix = lambda x, of=layer: x + of.attention(of.norm1(x)), lambda x, of=layer: x + of.mlp(of.norm2(x))
        x = stage(f"layer {index} attention", [layer.norm1, layer.attention], attend, x)
        x = stage(f"layer {index} mlp", [layer.norm2, layer.mlp], mix, x)
    x = stage("norm", [model.norm], model.norm, x)
    stage("head", [model.head], lambda x: model.head(model.pool(x)), x)
    return tuple(entries)


def _counted(run: "Callable[[Tensor], Tensor]", x: "Tensor") -> "tuple[Tensor, int]":
    """What comes out, and the multiply-adds on the way as torch counts them."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        return run(x), counter.get_total_flops() // 2


def _size(owner: Any) -> int:
    """Parameters of a module, or of one parameter."""
    return sum(p.numel() for p in owner.parameters()) if hasattr(owner, "parameters") else owner.numel()
