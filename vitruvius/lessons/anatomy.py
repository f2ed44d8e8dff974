"""A Vision Transformer part by part: shapes, parameters, multiply-adds, and what each part is for."""

from collections.abc import Iterator
from functools import lru_cache
from random import Random
from typing import Annotated, Any

import torch
from pydantic import BeforeValidator
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from vitruvius import lessons
from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.core.blocks import Bars
from vitruvius.lessons import Answer, Attempt, Board, Proof, Step
from vitruvius.lessons._proofs import agree
from vitruvius.nn.attention import in_full
from vitruvius.nn.vit import ViT, patches

SUBJECT = "vision transformers"
TASK = (
    "The parts of a Vision Transformer (its sizes are given under arch). Count the pairs that "
    "attention compares, the weights of the attention and of the MLP of one layer, the parameters of "
    "all norms and of the head, and all parameters together. (Where head_dim is None, a head is width / "
    "heads wide; every norm scales and shifts each entry.)"
)
DEEPEST = 64
POSITIONS = {
    "learned": "a learned table of <tokens> x <width> = <table> numbers, where the original Transformer "
    "computes fixed sines and cosines. Nothing tells it that images have rows: it learns that",
    "sinusoidal": "fixed sines and cosines, 0 parameters for <tokens> places, as in the original Transformer",
    "none": "nothing here, so the <tokens> tokens are a set and the order of patches is lost",
}
READ = {
    "cls": "a learned class token, put in front as token 1 of <tokens>: it asks all patches and collects "
    "what it needs; after the last norm the head reads it alone",
    "mean": "the mean of the <arch.patches> patch tokens after the last norm, which the head reads",
}


def _by_name(value: Any) -> Any:
    return tables.arch(value) if isinstance(value, str) else value


class Question(lessons.Question):
    """A network; the default is the paper's base model, 16 x 16 patches of 224 x 224 pixels."""

    arch: Annotated[Arch, BeforeValidator(_by_name)] = tables.arch("vit_base_patch16_224")
    """The fields of a network, the name of a preset, or a file NAME.json."""

    def refuse(self) -> None:
        if (depth := self.arch.depth) > DEEPEST:
            raise ValueError(f"arch has depth {depth}: it needs at most {DEEPEST} to be shown part by part")
        if self.arch.stem:
            needs = "this lesson takes networks that cut the image itself into patches"
            raise ValueError(f"arch has a stem: {needs}")
        cost.refuse_if_too_big(self.arch)


def solve(question: Question) -> Iterator[Step | Answer]:
    """From the picture to the classes, then the sums."""
    arch = question.arch
    parts, whole = cost.parts(arch, fold=False), cost.cost(arch, fold=False)
    board = Board(arch=arch, layer=arch.layers[0], tokens=arch.tokens, width=arch.width, side=arch.patch)
    yield from _input_steps(arch, board)
    yield from _attention_steps(arch, board)
    yield from _steps_behind_attention(arch, board)
    board |= {"parts": len(parts), "parameters": whole.params, "macs": whole.macs}
    names, values = zip(*((part.name, float(part.params)) for part in parts), strict=True)
    board["sum"] = _sum_of_parts(arch, {part.name: part.params for part in parts})
    yield board.step(
        "All <parts> parts in order, each with the shape it gives, its parameters and its multiply-adds for "
        "one image, are listed in the answer: <parameters:,> parameters and <macs:,> multiply-adds in all.",
        "<sum> = <parameters>",
        "parameters macs",
        figure=Bars(title="Where the parameters are", names=names, values=values, y_label="parameters"),
    )
    layers = [_entry(part.name, part.shape, part.params, part.macs) for part in parts]
    yield Answer(fields={"layers": layers, **board.pick("parameters macs")})


def _sum_of_parts(arch: Arch, counts: dict[str, int]) -> str:
    """The parameters outside the layers by name, and those of all layers, as a sum in LaTeX."""
    layers = [count for name, count in counts.items() if name.startswith("layer")]
    each = [sum(pair) for pair in zip(layers[::2], layers[1::2], strict=True)]
    inside = rf"{arch.depth} \cdot {each[0]}" if len(set(each)) == 1 else str(sum(each))
    named = [(name, str(count)) for name, count in counts.items() if not name.startswith("layer")]
    named.insert(len(named) - 2, ("layers", inside))  # before the last norm and the head
    return " + ".join(rf"\underbrace{{{count}}}_{{\text{{{name}}}}}" for name, count in named)


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The network itself: shapes, parameters, and operations as torch counts them."""
    found = _measured(question.arch)
    yield agree("layers", "the modules and torch's operation counter", answer["layers"], found)
    totals = {name: sum(entry[name] for entry in found) for name in ("parameters", "macs")}
    yield agree("totals", "sums over the modules", answer, totals)


def attempt(question: Question, write: Attempt) -> None:
    """The counts of the parts, then their sum."""
    arch, layer = question.arch, question.arch.layers[0]
    width, inner, norms = arch.width, layer.heads * layer.head_dim, 2 * arch.depth + 1
    write(
        "pairs",
        arch.tokens**2,
        "pairs of tokens in one head",
        "How many tokens are there, and which of them does a token look at?",
        r"N^2 \text{ with } N = (\text{image} / \text{patch})^2 + 1 \text{ (class token)}",
        no_class=("the class token is not counted", arch.patches**2),
        once=("every pair is counted once", arch.tokens * (arch.tokens - 1) // 2),
    )
    right_weights, right_mlp = 4 * width * inner, 2 * width * layer.mlp
    weights = write(
        "weights",
        right_weights,
        "weights of the attention of one layer, without biases",
        "Which four maps does attention have, and how wide are all heads together?",
        r"4 D \cdot (H E)",
        every_head=("every head is given the whole width", 4 * width * width * layer.heads),
        no_output=("the output map is forgotten", 3 * width * inner),
    )
    mlp = write(
        "mlp",
        right_mlp,
        "weights of the MLP of one layer, without biases",
        "How many maps does the MLP have?",
        r"2 D M",
        one_map=("only one of the two maps is counted", width * layer.mlp),
    )
    right_scales, right_head = norms * 2 * width, width * arch.classes + arch.classes
    scales = write(
        "scales",
        right_scales,
        "parameters of all norms",
        "How many norms does a layer have, is there one at the end, and what does a norm learn?",
        r"(2 L + 1) \cdot 2 D",
        no_shift=("only the scales are counted, not the shifts", norms * width),
        no_last=("the last norm is forgotten", (norms - 1) * 2 * width),
    )
    head = write(
        "head",
        right_head,
        "parameters of the head",
        "Has the head a bias?",
        r"D C + C",
        no_bias=("the bias of the head is forgotten", width * arch.classes),
    )
    off = arch.depth * (weights - right_weights + mlp - right_mlp) + scales - right_scales + head - right_head
    total = cost.cost(arch, fold=False).params + off
    learned = arch.tokens * width if arch.positions == "learned" else 0
    others = (arch.depth - 1) * (weights + mlp)  # of the layers but one
    write(
        "parameters",
        total,
        "parameters of the whole network",
        "What else is learned beside the layers: patches, positions, class token, biases?",
        r"\text{patches} + \text{class token} + \text{positions} + L (\dots) + \text{norm} + \text{head}",
        no_positions=("the table of positions is forgotten", total - learned),
        one_layer=("the weights of one layer only are counted", total - others),
    )


def draw(random: Random) -> dict[str, Any]:
    """A small network of even sizes."""
    heads, patch = random.choice((2, 4)), random.choice((4, 7, 8))
    sizes = {"image": patch * random.randint(2, 6), "patch": patch, "channels": random.choice((1, 3))}
    sizes |= {"width": heads * random.choice((8, 12, 16)), "depth": random.randint(2, 6), "heads": heads}
    return {"arch": sizes | {"mlp": random.choice((48, 64, 96, 128)), "classes": random.randint(2, 10)}}


def _input_steps(arch: Arch, board: Board) -> Iterator[Step]:
    board |= {"weights": arch.patch_dim * arch.width, "table": arch.tokens * arch.width}
    yield board.step(
        "A convolutional net slides small filters over all <arch.image> x <arch.image> pixels, in every "
        "layer. A ViT cuts them once into <arch.patches> patches and treats these as words. One convolution "
        "is left, and it hides here: the map of a patch is a convolution of kernel <side>, stride <side> and "
        "<width> filters.",
        r"<arch.patches> \times (<arch.channels> \cdot <side>^2 = <arch.patch_dim>) \to <arch.patches> "
        r"\times <width>, \qquad <weights> \text{ weights}",
        {"kernel": arch.patch, "stride": arch.patch, "filters": arch.width},
    )
    added = r"z_0 = \text{tokens} + P, \quad P \in \mathbb{R}^{<tokens> \times <width>}"
    yield board.step(
        f"Attention does not know the order of its tokens. Positions tell it: {POSITIONS[arch.positions]}.",
        "" if arch.positions == "none" else added,
        {"tokens": arch.tokens, "positions": arch.positions},
    )


def _attention_steps(arch: Arch, board: Board) -> Iterator[Step]:
    n, width, layer, norms = arch.tokens, arch.width, arch.layers[0], 2 * arch.depth + 1
    inner, mlp = layer.heads * layer.head_dim, 2 * width * layer.mlp
    board |= {"steps": n, "path": n - 1, "pairs": n**2, "norms": norms, "scales": norms * 2 * width}
    board |= {"heads": layer.heads, "head_dim": layer.head_dim, "inner": inner, "weights": 4 * width * inner}
    board |= {"mlp": mlp, "share": mlp / (mlp + board["weights"])}
    board["products"] = cost.attention_macs(arch.kernel, n, layer)
    yield board.step(
        "What replaces recurrence: a recurrent net reads <tokens> tokens one after the other, and the first "
        "reaches the last through <path> steps; attention connects every pair in 1 and works on all tokens "
        "at once. The price is <pairs> pairs instead of <tokens> steps.",
        r"N = <tokens> \text{ steps} \to 1, \qquad N^2 = <pairs> \text{ pairs}",
        "steps path pairs",
    )
    yield board.step(
        "Self-attention: each token asks (query), is asked (key) and answers (value), three maps of its own "
        "<width> entries. Its <tokens> weights are computed from the tokens, so what is mixed depends on the "
        "input, near or far alike.",
        r"\operatorname{softmax}\left(\frac{QK^T}{\sqrt{<head_dim>}}\right) V, \qquad <products> \text{ "
        r"multiply-adds}",
        "products",
    )
    yield board.step(
        "<heads> heads of <head_dim> entries look in <heads> ways at once; one head would have to average "
        "them. It costs nothing extra: one head of <heads> x <head_dim> = <inner> entries has <weights> "
        "weights, too.",
        r"[H_1; \dots; H_{<heads>}]\, W_o, \qquad W_o \in \mathbb{R}^{<inner> \times <width>}",
        "heads head_dim weights",
    )


def _steps_behind_attention(arch: Arch, board: Board) -> Iterator[Step]:
    yield board.step(
        "The feed-forward part works on each token alone, <width> to <layer.mlp> and back with "
        "<arch.activation> between: attention moves things, this transforms them. It holds <share:.0%> of a "
        "layer's weights.",
        r"W_2\, \phi(W_1 z + b_1) + b_2, \qquad 2 \cdot <width> \cdot <layer.mlp> = <mlp>",
    )
    yield board.step(
        "Layer normalisation brings each token's <width> entries to mean 0 and variance 1, then scales and "
        "shifts them; it needs no batch and is the same in training and in use. There are <norms>, before "
        "each half and at the end; the original Transformer normalises after each sum, which is harder to "
        "train when deep.",
        r"\frac{z - \bar z}{\sqrt{\mathrm{var}(z) + \epsilon}} \odot \gamma + \beta, \qquad <norms> \cdot 2 "
        r"\cdot <width> = <scales> \text{ parameters}",
        "scales",
    )
    yield board.step(
        "Against the original Transformer a ViT is only the encoder: <arch.depth> layers with 1 attention "
        "each, no decoder, no cross-attention, no causal mask; patches instead of words, norms before the "
        "sums instead of after, <arch.activation> in the feed-forward part where it had relu.",
        value={"layers": arch.depth, "attentions": arch.depth},
    )
    board["head"] = arch.width * arch.classes + arch.classes
    board["hidden"] = arch.width * arch.width + arch.width
    yield board.step(
        f"The classes come from {READ[arch.pooling]}, one linear map of <width> entries to <arch.classes> "
        "scores. Softmax makes them probabilities. In pre-training the paper puts a hidden layer of <width> "
        "tanh units before that map (an MLP head, <hidden> parameters more); for fine-tuning it is taken off "
        "and the map is new, starting at 0.",
        r"y = W z + b, \qquad <width> \cdot <arch.classes> + <arch.classes> = <head>",
    )


def _entry(name: str, shape: Any, parameters: int, macs: int) -> dict[str, Any]:
    return {"name": name, "shape": list(shape), "parameters": parameters, "macs": macs}


@lru_cache(maxsize=4)
def _measured(arch: Arch) -> tuple[dict[str, Any], ...]:
    """Every part of the network as torch sees it."""
    # Only the softmax kernel runs without memory for its numbers; the others ask for the device's precision.
    with torch.device("meta" if arch.kernel == "softmax" else "cpu"), torch.random.fork_rng(devices=[]):
        model, x = ViT(arch).eval(), torch.zeros(1, arch.channels, arch.image, arch.image)
    entries = []

    def stage(name: str, owners: list[Any], run: Any, x: Tensor) -> Tensor:
        with (
            torch.no_grad(),
            in_full(model),
            sdpa_kernel(SDPBackend.MATH),
            FlopCounterMode(display=False) as counter,
        ):
            y: Tensor = run(x)
        owned = [list(owner.parameters()) if hasattr(owner, "parameters") else [owner] for owner in owners]
        size = sum(parameter.numel() for parameters in owned for parameter in parameters)
        entries.append(_entry(name, y.shape[1:], size, counter.get_total_flops() // 2))
        return y

    x = stage("patches", [model.patch_map], lambda x: model.patch_map(patches(x, arch.patch)), x)
    if (token := model.class_token) is not None:
        x = stage("class token", [token], lambda x: torch.cat([token, x], 1), x)
    owned: list[Any] = [model.positions] if arch.positions == "learned" else []
    x = stage("positions", owned, lambda x: x if model.positions is None else x + model.positions, x)
    for index, layer in enumerate(model.layers):
        attention, mlp = [layer.norm1, layer.attention], [layer.norm2, layer.mlp]
        scales = ([layer.scale1], [layer.scale2]) if arch.layer_scale else ([], [])
        x = stage(f"layer {index} attention", attention + scales[0], lambda x, of=layer: x + of.mix(x), x)
        x = stage(f"layer {index} mlp", mlp + scales[1], lambda x, of=layer: x + of.transform(x), x)
    if arch.final_norm == "tokens":
        x = stage("norm", [model.norm], model.norm, x)
        stage("head", [model.head], lambda x: model.head(model.pool(x)), x)
    else:
        x = stage("norm", [model.norm], model.pool, x)
        stage("head", [model.head], model.head, x)
    return tuple(entries)
