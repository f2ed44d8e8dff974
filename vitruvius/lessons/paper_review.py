"""A one-page review of the Vision Transformer paper, each measurable claim beside the command that measures it.

The paper: Dosovitskiy et al., An Image is Worth 16x16 Words, ICLR 2021. Sizes and costs in the text are computed for
the network in question; accuracies and training costs are the paper's own.
"""

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Self

from pydantic import model_validator

from vitruvius import lessons
from vitruvius.arch import cost, tables
from vitruvius.lessons import Answer, Proof, Step, _board
from vitruvius.lessons._proofs import agree, holds

if TYPE_CHECKING:
    from vitruvius.arch.arch import Arch

SUBJECT = "vision transformers"
LARGEST_IMAGE = 4096
PAGE = 550
"""Words that fit on one page."""


class Question(lessons.Question):
    """The network whose numbers stand in the review."""

    arch: str = "vit_base_patch16_224"
    """A preset or a file NAME.json."""

    @model_validator(mode="after")
    def _is_a_network(self) -> Self:
        arch = tables.arch(self.arch)
        if arch.image > LARGEST_IMAGE or arch.kernel != "softmax":
            raise ValueError(
                f"arch {self.arch} has image {arch.image} and kernel {arch.kernel}: needs an image of at most "
                f"{LARGEST_IMAGE} pixels a side and the paper's kernel, softmax"
            )
        return self


class Sizes(NamedTuple):
    """What the review says about the network, computed."""

    patches: int
    tokens: int
    params: int
    macs: int
    attention_share: float
    doubled_tokens: int  # at twice the resolution
    doubled_share: float


class Claim(NamedTuple):
    """Something the paper says that a command can look at."""

    command: str
    says: str
    shows: str


REVIEW = {
    "summary": """
        The paper asks whether a Transformer encoder without any convolution can classify images. An image of {image} x
        {image} pixels is cut into {patches} patches of {patch} x {patch}; a linear map makes each a vector of {width}
        numbers, a class token and learned positions join them, and {depth} pre-norm layers follow: {millions:.1f}
        million parameters and {billions:.2f} billion multiply-adds per image in the network counted here. The main
        contribution is evidence, not a new layer: enough supervised pre-training replaces built-in knowledge of
        images. Models are pre-trained on ImageNet (1.3 million images), ImageNet-21k (14 million) or JFT (303 million;
        section 4.1) and fine-tuned, often at higher resolution. The largest, ViT-H/14, reaches 88.55 % on ImageNet and
        77.63 % on the 19 tasks of VTAB after 2,500 TPUv3-core-days; the convolutional BiT-L reaches 87.54 % and
        76.29 % after 9,900 (Table 2). Pre-trained on ImageNet only, the large models stay behind ResNets (Figure 3).
    """,
    "strengths": """
        There is no new theory. The empirical step is large: at equal accuracy the models need two to four times less
        pre-training compute than ResNets (section 4.4). The formulation is so plain that any Transformer code can be
        used; the image enters through one matrix of {patch_dim} x {width}. Code and weights are public. The experiments
        are careful: three data sizes with subsets, hybrids with convolutions, a controlled comparison of compute, and a
        look inside at attention distance and position embeddings. For the community it joins the tools of vision and
        language.
    """,
    "weaknesses": """
        The headline result rests on a private data set that nobody else can use, and on budgets few have; with the
        public ImageNet-21k, ViT-L/16 ends at 85.30 % (Table 2). The baselines for small data could be stronger: later
        work (Touvron et al. 2021) trained such models well on ImageNet alone with strong augmentation. Only
        classification is tried; detection and segmentation are missing, and self-supervision stays a sketch: 79.9 %,
        four points behind supervised pre-training (section 4.6). Choices such as the class token are explained in the
        appendix only. The encoder is nearly that of 2017, and Cordonnier et al. (2020) had already fed it patches,
        though tiny ones. Products between tokens take {attention_share:.1%} of the work here, but {doubled_share:.1%}
        at twice the resolution, which the paper hardly discusses. It matters all the same: whether one general
        architecture serves every modality is a significant question.
    """,
    "reflections": """
        Much of a course meets here. The patch map is a convolution whose stride is its kernel; attention is a graph
        network with {edges:,} edges per head; layer norm replaces batch norm; residuals carry the gradient through
        {depth} layers. Next steps are masked pre-training, dense prediction, and attention that costs less than the
        square of {doubled_tokens:,} tokens. I would like to know how little position information suffices, whether
        attention distance already grows with depth in small networks on small images, and whether untrained networks
        can be ranked before the GPU hours are spent.
    """,
}
CLAIMS = (
    Claim(
        "vitruvius predict RUN IMAGE",
        "Attention reaches further in deeper layers, and some heads look across the image from the first layer on.",
        "distance.png: mean attention distance per head and layer",
    ),
    Claim(
        "vitruvius predict RUN IMAGE",
        "Learned positions resemble those of patches that are near, or in the same row or column.",
        "positions.png: cosine similarity of the position embeddings",
    ),
    Claim(
        "vitruvius predict RUN IMAGE",
        "The class token attends to what the image shows.",
        "the attention overlay by rollout",
    ),
    Claim(
        "vitruvius train --set positions=none",
        "Positions matter, their kind hardly does.",
        "test_accuracy, against positions=learned and positions=sinusoidal",
    ),
    Claim(
        "vitruvius train --set pooling=mean",
        "A class token and the mean of the patches serve equally well.",
        "test_accuracy, against pooling=cls",
    ),
    Claim(
        "vitruvius pretrain --model vit --objective mask --data mnist",
        "Guessing masked patches is useful pre-training.",
        "then vitruvius train --init RUN, against training from scratch",
    ),
    Claim("vitruvius explain patches", "Embedding patches is a strided convolution.", "both give the same tokens"),
    Claim("vitruvius list presets", "The sizes and costs quoted here.", "parameters and multiply-adds"),
)


def solve(question: Question) -> Iterator[Step | Answer]:
    """The computed sizes, then the four sections, then what can be measured here."""
    arch = tables.arch(question.arch)
    sizes = _sizes(arch)
    yield Step(
        says=f"The numbers first. {question.arch} makes {sizes.patches} patches and {sizes.tokens} tokens of an image "
        f"and has {sizes.params:,} parameters; one image costs {sizes.macs:,} multiply-adds.",
        formula=rf"n = \left(\frac{{{arch.image}}}{{{arch.patch}}}\right)^2 = {sizes.patches}, \quad "
        rf"N = {sizes.tokens}, \quad \frac{{2 N^2 \sum_l I_l}}{{\mathrm{{multiply\ adds}}}} = "
        rf"{_board.number(sizes.attention_share)}",
        value=sizes._asdict(),
    )
    sections = _review(arch, sizes)
    for title, text in sections.items():
        yield Step(says=f"{title.capitalize()}. {text}")
    yield Step(
        says=f"{len(CLAIMS)} of the claims can be looked at here: the answer lists each with the command that measures "
        "it and what to look for. RUN is a folder that vitruvius train has written.",
        value=len(CLAIMS),
    )
    words = len(" ".join(sections.values()).split())
    claims = [claim._asdict() for claim in CLAIMS]
    yield Answer(fields={**sections, "sizes": sizes._asdict(), "words": words, "claims": claims})


def _review(arch: "Arch", sizes: Sizes) -> dict[str, str]:
    """The four sections with the numbers filled in."""
    counts = {"edges": sizes.tokens**2, "millions": sizes.params / 1e6, "billions": sizes.macs / 1e9}
    numbers = {**sizes._asdict(), **counts, "patch_dim": arch.patch_dim, **arch.model_dump()}
    return {title: " ".join(text.split()).format(**numbers) for title, text in REVIEW.items()}


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """The network itself, built without memory: its tokens, weights and the flops that torch counts."""
    arch = tables.arch(question.arch)
    sizes = _counted(arch)
    yield agree("sizes", "torch's flop counter", answer["sizes"], sizes._asdict(), 1e-7)
    sections = _review(arch, sizes)
    yield agree("the text", "written with the counted sizes", {name: answer[name] for name in sections}, sections)
    words = sum(len(answer[name].split()) for name in sections)
    yield agree("words", "counted by section", answer["words"], words)
    yield holds("one page", "counted", words <= PAGE, f"{words} words, a page holds {PAGE}")
    yield agree("claims", "the list itself", answer["claims"], [claim._asdict() for claim in CLAIMS])


def _sizes(arch: "Arch") -> Sizes:
    doubled = arch.with_fields(image=2 * arch.image)
    found = cost.cost(arch)
    return Sizes(arch.patches, arch.tokens, found.params, found.macs, _share(arch), doubled.tokens, _share(doubled))


def _share(arch: "Arch") -> float:
    """The part of the multiply-adds that grows with the square of the tokens."""
    products = sum(cost.attention_macs(arch.kernel, arch.tokens, layer) for layer in arch.layers)
    return products / cost.cost(arch).macs


def _counted(arch: "Arch") -> Sizes:
    """The same numbers, counted in the built networks."""
    tokens, params, macs, share = _built(arch)
    doubled_tokens, _, _, doubled_share = _built(arch.with_fields(image=2 * arch.image))
    return Sizes(tokens - arch.class_token, tokens, params, macs, share, doubled_tokens, doubled_share)


@cache
def _built(arch: "Arch") -> tuple[int, int, int, float]:
    """Tokens, parameters, multiply-adds and the share of attention, from tensors that have a shape but no memory."""
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    from vitruvius.nn.vit import ViT

    with torch.device("meta"), torch.no_grad():
        model = ViT(arch).eval()
        image_BCHW = torch.empty(1, arch.channels, arch.image, arch.image)
        with FlopCounterMode(display=False) as counter:
            model(image_BCHW)
        tokens = model.embed(image_BCHW).shape[1]
    flops = counter.get_total_flops()
    products = counter.get_flop_counts()["Global"][torch.ops.aten.bmm]  # only attention multiplies two activations
    return tokens, sum(weight.numel() for weight in model.parameters()), flops // 2, products / flops
