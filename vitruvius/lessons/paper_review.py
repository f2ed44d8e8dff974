"""A one-page review of the Vision Transformer paper; each measurable claim has the command that measures it.

The paper: Dosovitskiy et al., An Image is Worth 16x16 Words, ICLR 2021. Sizes and costs in the text are
computed for the network in question; accuracies and training costs are the paper's own."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from vitruvius import lessons
from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.lessons import Answer, Board, Proof, Step
from vitruvius.lessons._proofs import agree, holds
from vitruvius.nn.attention import in_full
from vitruvius.nn.vit import ViT

SUBJECT = "vision transformers"
LARGEST_IMAGE = 4096
PAGE = 550
"""Words that fit on one page."""
REVIEW = {
    "summary": """The paper asks whether a Transformer encoder without any convolution can classify images. An
    image of <image> x <image> pixels is cut into <patches> patches of <patch> x <patch>; a linear map makes
    each a vector of <width> numbers, a class token and learned positions join them, and <depth> pre-norm
    layers follow: <millions:.1f> million parameters and <billions:.2f> billion multiply-adds per image in the
    network counted here. The main contribution is evidence, not a new layer: enough supervised pre-training
    replaces built-in knowledge of images. Models are pre-trained on ImageNet (1.3 million images),
    ImageNet-21k (14 million) or JFT (303 million; section 4.1) and fine-tuned, often at higher resolution.
    The largest, ViT-H/14, reaches 88.55 % on ImageNet and 77.63 % on the 19 tasks of VTAB after 2,500
    TPUv3-core-days; the convolutional BiT-L reaches 87.54 % and 76.29 % after 9,900 (Table 2). Pre-trained on
    ImageNet only, the large models stay behind ResNets (Figure 3).""",
    "strengths": """There is no new theory. The empirical step is large: at equal accuracy the models need two
    to four times less pre-training compute than ResNets (section 4.4). The formulation is so plain that any
    Transformer code can be used; the image enters through one matrix of <patch_dim> x <width>. Code and
    weights are public. The experiments are careful: three data sizes with subsets, hybrids with convolutions,
    a controlled comparison of compute, and a look inside at attention distance and position embeddings. For
    the community it joins the tools of vision and language.""",
    "weaknesses": """The headline result rests on a private data set that nobody else can use, and on budgets
    few have; with the public ImageNet-21k, ViT-L/16 ends at 85.30 % (Table 2). The baselines for small data
    could be stronger: later work (Touvron et al. 2021) trained such models well on ImageNet alone with strong
    augmentation. Only classification is tried; detection and segmentation are missing, and self-supervision
    stays a sketch: 79.9 %, four points behind supervised pre-training (section 4.6). Choices such as the
    class token are explained in the appendix only. The encoder is nearly that of 2017, and Cordonnier et al.
    (2020) had already fed it patches, though tiny ones. Products between tokens take <attention_share:.1%> of
    the work here, but <doubled_share:.1%> at twice the resolution, which the paper hardly discusses. It
    matters all the same: whether one general architecture serves every modality is a significant
    question.""",
    "reflections": """Much of a course meets here. The patch map is a convolution whose stride is its kernel;
    attention is a graph network with <edges:,> edges per head; layer norm replaces batch norm; residuals
    carry the gradient through <depth> layers. Next steps are masked pre-training, dense prediction, and
    attention that costs less than the square of <doubled_tokens:,> tokens. I would like to know how little
    position information suffices, whether attention distance already grows with depth in small networks on
    small images, and whether untrained networks can be ranked before the GPU hours are spent.""",
}
CLAIMS = """
vitruvius predict RUN IMAGE
Attention reaches further in deeper layers, and some heads look across the image from the first layer on.
distance.png: mean attention distance per head and layer

vitruvius predict RUN IMAGE
Learned positions resemble those of patches that are near, or in the same row or column.
positions.png: cosine similarity of the position embeddings

vitruvius predict RUN IMAGE --overlay
The class token attends to what the image shows.
the attention overlay by rollout

vitruvius train --set positions=none
Positions matter, their kind hardly does.
test_accuracy, against positions=learned and positions=sinusoidal

vitruvius train --set pooling=mean
A class token and the mean of the patches serve equally well.
test_accuracy, against pooling=cls

vitruvius pretrain --model vit --objective mask --data mnist
Guessing masked patches is useful pre-training.
then vitruvius train --init RUN, against training from scratch

vitruvius explain patches
Embedding patches is a strided convolution.
both give the same tokens

vitruvius list presets
The sizes and costs quoted here.
parameters and multiply-adds
"""
"""What the paper says and a command can look at: the command, the claim, what to look for."""


class Question(lessons.Question):
    """The network whose numbers stand in the review."""

    arch: str = "vit_base_patch16_224"
    """A preset or a file NAME.json."""

    def refuse(self) -> None:
        arch = tables.arch(self.arch)
        if arch.image > LARGEST_IMAGE or arch.kernel != "softmax":
            raise ValueError(
                f"arch {self.arch} has image {arch.image} and kernel {arch.kernel}: needs an image of at "
                f"most {LARGEST_IMAGE} pixels a side and the paper's kernel, softmax"
            )
        if arch.stem:
            raise ValueError(f"arch {self.arch} has a stem, which the paper's network has not")


def solve(question: Question) -> Iterator[Step | Answer]:
    """The computed sizes, then the four sections, then what can be measured here."""
    arch = tables.arch(question.arch)
    sizes, claims = _sizes(arch, _by_formula), _claims()
    board = Board(sizes, name=question.arch, image=arch.image, patch=arch.patch, count=len(claims))
    yield board.step(
        "The numbers first. <name> makes <patches> patches and <tokens> tokens of an image and has "
        "<params:,> parameters; one image costs <macs:,> multiply-adds.",
        r"n = \left(\frac{<image>}{<patch>}\right)^2 = <patches>, \quad N = <tokens>, \quad \frac{2 N^2 "
        r"\sum_l I_l}{\mathrm{multiply\ adds}} = <attention_share>",
        sizes,
    )
    sections = _review(arch, sizes)
    yield from (Step(says=f"{title.capitalize()}. {text}") for title, text in sections.items())
    yield board.step(
        "<count> of the claims can be looked at here: the answer lists each with the command that measures "
        "it and what to look for. RUN is a folder that vitruvius train has written.",
        value="count",
    )
    words = len(" ".join(sections.values()).split())
    yield Answer(fields={**sections, "sizes": sizes, "words": words, "claims": claims})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The network itself, built without memory: its tokens, weights and the flops that torch counts."""
    arch = tables.arch(question.arch)
    sizes = _sizes(arch, _built)
    yield agree("sizes", "torch's flop counter", answer["sizes"], sizes, 1e-7)
    sections = _review(arch, sizes)
    yield agree("the text", "written with the counted sizes", answer, sections)
    words = sum(len(answer[name].split()) for name in sections)
    yield agree("words", "counted by section", answer["words"], words)
    yield holds("one page", "counted", words <= PAGE, f"{words} words, a page holds {PAGE}")
    yield agree("claims", "the list itself", answer["claims"], _claims())


def _claims() -> list[dict[str, str]]:
    blocks = (block.splitlines() for block in CLAIMS.strip().split("\n\n"))
    return [dict(zip(("command", "says", "shows"), lines, strict=True)) for lines in blocks]


def _review(arch: Arch, sizes: dict[str, Any]) -> dict[str, str]:
    """The four sections with the numbers filled in."""
    board = Board(arch.model_dump(), **sizes, edges=sizes["tokens"] ** 2, patch_dim=arch.patch_dim)
    board |= {"millions": sizes["params"] / 1e6, "billions": sizes["macs"] / 1e9}
    return {title: board.step(" ".join(text.split())).says for title, text in REVIEW.items()}


def _sizes(arch: Arch, count: Callable[[Arch], tuple[int, int, int, float]]) -> dict[str, Any]:
    """What the review says about the network, by what `count` finds at its resolution and at twice that."""
    tokens, params, macs, share = count(arch)
    doubled_tokens, _, _, doubled_share = count(arch.with_fields(image=2 * arch.image))
    sizes = {"patches": tokens - arch.class_token, "tokens": tokens, "params": params, "macs": macs}
    return sizes | {
        "attention_share": share,
        "doubled_tokens": doubled_tokens,
        "doubled_share": doubled_share,
    }


def _by_formula(arch: Arch) -> tuple[int, int, int, float]:
    """Tokens, parameters, multiply-adds and the part of them that grows with the square of the tokens."""
    products = sum(cost.attention_macs(arch.kernel, arch.tokens, layer) for layer in arch.layers)
    whole = cost.cost(arch, fold=False)
    return arch.tokens, whole.params, whole.macs, products / whole.macs


@cache
def _built(arch: Arch) -> tuple[int, int, int, float]:
    """The same, counted in the network built of tensors that have a shape but no memory."""
    with torch.device("meta"), torch.no_grad():
        model, image_BCHW = ViT(arch).eval(), torch.empty(1, arch.channels, arch.image, arch.image)
        with in_full(model), FlopCounterMode(display=False) as counter:
            model(image_BCHW)
        tokens = model.embed(image_BCHW).shape[1]
    flops = counter.get_total_flops()
    # Only attention multiplies two activations.
    products = counter.get_flop_counts()["Global"][torch.ops.aten.bmm]
    return tokens, sum(weight.numel() for weight in model.parameters()), flops // 2, products / flops
