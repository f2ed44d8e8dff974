r"""Self-attention as an identity, a permutation, a linear layer per token, a convolution: their weights.

A token is its content followed by a one-hot position, $[x_i, e_i]$. A head's query asks for one position,
$q_i = s\, e_{\tau(i)}$, its key is the position, its value the content: as the sharpness $s$ grows the head
copies token $\tau(i)$ to place i. Rows are tokens and matrices act from the right: n tokens, E content, D = E
+ n."""

import math
from collections.abc import Iterator
from random import Random
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor
from torch.nn.functional import conv1d, pad

from vitruvius import kernels, lessons
from vitruvius.lessons import Answer, Attempt, Board, Exact, Matrix, Proof, Step, exact, latex
from vitruvius.lessons._draws import whole
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._shapes import measure
from vitruvius.lessons._tensors import Array, arrays, softmax, tensor

SUBJECT = "attention"
TASK = (
    "Self-attention as a convolution whose ends wrap around: rows of x are the contents of the "
    "tokens, taps are the maps of the left neighbour, the token itself and the right neighbour (they "
    "multiply rows from the right). What should come out? Which part of the weight of a head goes to "
    "the wrong tokens at this sharpness s, when the score wanted leads by s / sqrt(n) and all others are "
    "equal? What comes out then, and by how much is an entry off at most?"
)
MEANINGS = {
    "identity": "Each token asks for its own place and gets its own content back.",
    "permutation": "Each token asks for the place of another and gets its content.",
    "pointwise": "Each token asks for its own place and the value map does the work: a running linear "
    "layer, properly called a pointwise or 1 x 1 convolution.",
    "convolution": "Each head fetches one neighbour and the output map applies one tap to each head: as many "
    "heads as the kernel is long make a convolution. The ends wrap around; zeros there would take one more "
    "token, of content 0.",
}


class Question(lessons.Question):
    """Four tokens with two entries each."""

    limits = {"N": (2, 32), "E": (1, 32), "F": (1, 32)}
    kind: Literal["identity", "permutation", "pointwise", "convolution"] = "convolution"
    x: Annotated[Matrix, "N E"] = exact(((1, 2), (3, 1), (0, 4), (2, 2)))
    """The contents, one token per row."""
    permutation: tuple[int, ...] | None = None
    """Which token (counted from 0) comes to each place; null: the next one, the first to the end."""
    weight: Matrix = exact(((1, 2), (0, 1)))
    """For pointwise: the linear map of every token, E rows."""
    taps: tuple[Matrix, ...] = exact((((1, 0), (0, 1)), ((2, 0), (0, 1)), ((0, 1), (1, 0))))
    """For a convolution: the map of each neighbour, left to right, an odd number; the ends wrap around."""
    sharpness: Annotated[Exact, Field(ge=0, le=1000)] = exact(16)

    def refuse(self) -> None:
        count, odd = len(self.x), len(self.taps) % 2
        if self.kind == "permutation" and sorted(self.order) != list(range(count)):
            raise ValueError(f"permutation is {list(self.order)}: it needs each of 0 to {count - 1} once")
        if self.kind == "convolution" and (not odd or len(self.taps) > count):
            raise ValueError(f"taps has {len(self.taps)} maps: it needs an odd number, at most {count}")
        maps = {"pointwise": ("weight", "E F", self.weight), "convolution": ("taps", "K E F", self.taps)}
        if self.kind in maps:
            measure([("x", "N E", self.x), maps[self.kind]], self.limits)

    @property
    def order(self) -> tuple[int, ...]:
        """Which token comes to each place."""
        return self.permutation or (*range(1, len(self.x)), 0)

    @property
    def sources(self) -> list[list[int]]:
        """For each head, the place that each token looks at."""
        count, reach = len(self.x), len(self.taps) // 2
        if self.kind == "permutation":
            return [list(self.order)]
        offsets = range(-reach, reach + 1) if self.kind == "convolution" else (0,)
        return [[(place + offset) % count for place in range(count)] for offset in offsets]


def solve(question: Question) -> Iterator[Step | Answer]:
    """The tokens, the weights, what comes out, and how the error falls."""
    weights, target, n = _weights(question), _target(question), len(question.x)
    tokens_nD = np.concatenate([np.array(question.x, object), np.eye(n, dtype=object)], axis=1)
    board = Board(n=n, others=n - 1, width=len(question.x[0]), tokens=tokens_nD, target=target)
    board |= {"sharpness": question.sharpness, "heads": len(weights["w_q"])}
    yield board.step(
        "Put a one-hot position behind each content: <n> tokens of <width> + <n> entries. The content says "
        "what, the position says where, and a linear map can read each alone.",
        "C = <tokens>",
    )
    board |= {f"W_{part}": weights[f"w_{part}"][0] for part in "qkv"}
    yield board.step(
        "The query of head 1 turns a position into the one it looks for, times the sharpness <sharpness>; "
        "the key is the position, the value the content."
        + (" Each of the <heads> heads has its own query map." if board["heads"] > 1 else ""),
        r"W_q = <W_q>, \quad W_k = <W_k>, \quad W_v = <W_v>",
        "W_q W_k W_v",
    )
    factors = [1.0, *(step / 10 for step in range(21))]
    outputs = [_attend(tokens_nD, weights, factor) for factor in factors]
    error, *errors = (float(np.abs(output - target.astype(float)).max()) for output in outputs)
    place = np.unravel_index(np.abs(outputs[0] - target.astype(float)).argmax(), target.shape)
    board |= {"output": outputs[0], "error": error, "least": errors[-1]}
    board["first"] = _first_target(question)
    board |= {"far": outputs[0][place], "wanted": target[place]}
    yield board.step(
        MEANINGS[question.kind]
        + " The output is off by at most <error:.4g>, because softmax leaves a little weight to every other "
        "token.",
        r"t_1 = <first> = <target[0]>, \quad o = <output> \approx t = <target>, \quad "
        r"\max |o - t| = |<far> - <wanted>| = <error>",
        "output",
        shows="target",
    )
    lead, x = float(question.sharpness) / math.sqrt(n), [float(question.sharpness) * f for f in factors[1:]]
    board |= {"lead": lead, "lost": (n - 1) / (math.exp(min(lead, 700.0)) + n - 1)}
    shown = {"largest error": [max(error, 1e-17) for error in errors]}
    yield board.step(
        "The score wanted leads by <lead:.4g>, which leaves <lost:.4g> of the weight to the <others> others. "
        "At twice the sharpness the error is <least:.3g>: it falls exponentially, but never to 0.",
        r"1 - w = \frac{<others>}{e^{s / \sqrt{<n>}} + <others>} = <lost>",
        {"sharpness": x, "error": errors},
        curves("Error", shown, x, ("sharpness", "largest error"), log="y"),
    )
    yield Answer(fields={**weights, **board.pick("output target error")})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """torch's own operation for the target, and this package's kernel with the answer's weights."""
    x, places = tensor(question.x), torch.eye(len(question.x), dtype=torch.float64)
    target, blocks = _by_torch(question, x), _blocks(question)
    yield agree("target", "torch's own operation", answer["target"], target)
    yield agree("weights", "blocks of torch matrices", answer, blocks)
    tokens, weights = torch.cat([x, places], dim=1), {name: tensor(answer[name]) for name in blocks}
    q, k, v = (tokens @ weights[name] for name in ("w_q", "w_k", "w_v"))
    output = kernels.get("softmax").attend(q[None], k[None], v[None])[0].transpose(0, 1).flatten(1)
    output = output @ weights["w_o"] if "w_o" in weights else output
    yield agree("output", "the softmax kernel of this package with these weights", answer["output"], output)
    error = (output - target).abs().max()
    yield agree("error", "the kernel against torch's operation", answer["error"], error)


def attempt(question: Question, write: Attempt) -> None:
    """What is to come out, the weight that goes astray, and what comes out with it."""
    right, n, sharpness = _target(question).astype(float), len(question.x), float(question.sharpness)
    mirrored: Any = right
    cut: Any = right
    if question.kind == "convolution":
        (x, *taps), reach = arrays(question.x, *question.taps), len(question.taps) // 2
        mirrored = sum(x[seen] @ tap for seen, tap in zip(question.sources, taps[::-1], strict=True))
        padded = np.pad(x, ((reach, reach), (0, 0)))
        cut = sum(padded[i : i + n] @ tap for i, tap in enumerate(taps))
    target = write(
        "target",
        right,
        "what should come out, a row per token",
        "Which tokens does a token see, and which map belongs to which neighbour?",
        r"y_i = \sum_o x_{i+o} T_o, \text{ places beyond the ends wrap around}",
        mirrored=("the taps are taken from right to left", mirrored),
        cut=("the ends do not wrap around but see zeros", cut),
    )

    def share(lead: float, others: int) -> float:
        return others / (math.exp(min(lead, 700.0)) + others)

    lost = write(
        "lost",
        share(sharpness / n**0.5, n - 1),
        "part of the weight that goes to the wrong tokens",
        "How many wrong tokens are there, and by how much does the right score lead?",
        r"1 - w = \frac{n - 1}{e^{s / \sqrt{n}} + n - 1}",
        no_root=("the score is not divided by sqrt(n)", share(sharpness, n - 1)),
        all_tokens=("the right token is counted among the wrong ones", share(sharpness / n**0.5, n)),
    )
    every = right.sum(0)  # what a token would give that saw all of them with weight 1
    each = lost / (n - 1)
    output = write(
        "output",
        (1 - lost - each) * target + each * every,
        "what comes out, a row per token",
        "What do the wrong tokens bring, each with its share of the lost weight?",
        r"(1 - l) \, y_i + \frac{l}{n - 1} \Big( \sum_j y_j - y_i \Big)",
        nothing=("the wrong tokens are taken to bring nothing", (1 - lost) * target),
        not_shared=("every wrong token gets all of the lost weight", (1 - 2 * lost) * target + lost * every),
    )
    gap = np.abs(output - target)
    write(
        "error",
        float(gap.max()),
        "largest difference of an entry from what should come out",
        "Which entry is furthest off?",
        r"\max_{i, e} |\text{output}_{ie} - y_{ie}|",
        mean=("the mean difference is given", float(gap.mean())),
    )


def draw(random: Random) -> dict[str, Any]:
    """Four tokens of two entries, three taps."""
    given = {"x": whole(random, 0, 4, 4, 2), "taps": whole(random, -1, 2, 3, 2, 2)}
    return given | {"sharpness": random.choice((4, 6, 8, 10, 12))}


def _weights(question: Question) -> dict[str, Array]:
    """The exact weights: queries and keys (H, D, n), values (H, D, E), the output map of a convolution."""
    n, width = len(question.x), len(question.x[0])
    places, above = np.eye(n, dtype=object), np.zeros((width, n), dtype=object)
    pointwise = question.kind == "pointwise"
    content = np.array(question.weight if pointwise else np.eye(width, dtype=int), object)
    below = np.zeros((n, content.shape[1]), dtype=object)
    asked = [np.concatenate([above, question.sharpness * places[sources]]) for sources in question.sources]
    found = {
        "w_q": np.stack(asked),
        "w_k": np.stack([np.concatenate([above, places])] * len(asked)),
        "w_v": np.stack([np.concatenate([content, below])] * len(asked)),
    }
    if question.kind == "convolution":
        found["w_o"] = np.concatenate(np.array(question.taps, object))
    return found


def _target(question: Question) -> Array:
    """What the layer is to compute, exactly."""
    x = np.array(question.x, object)
    if question.kind == "pointwise":
        return x @ np.array(question.weight, object)
    if question.kind == "convolution":
        taps = np.array(question.taps, object)
        return sum(x[seen] @ tap for seen, tap in zip(question.sources, taps, strict=True))
    return x[question.sources[0]]


def _first_target(question: Question) -> str:
    """How the first row of the target is worked out, in LaTeX."""
    seen = [question.x[places[0]] for places in question.sources]
    maps = {"pointwise": [question.weight], "convolution": question.taps}.get(question.kind, [""])
    return " + ".join(f"{latex(x)} {latex(w)}".strip() for x, w in zip(seen, maps, strict=True))


def _attend(tokens_nD: Array, weights: dict[str, Array], sharper: float) -> Array:
    """The layer's output, its scores multiplied by a factor."""
    w_q, w_k, w_v, *w_o = (weight.astype(float) for weight in weights.values())
    q, k, v = (tokens_nD.astype(float) @ w for w in (w_q, w_k, w_v))
    heads_HnE = softmax(sharper * q @ k.swapaxes(1, 2) / math.sqrt(k.shape[2])) @ v
    joined = np.concatenate(list(heads_HnE), axis=1)
    return joined @ w_o[0] if w_o else joined


def _by_torch(question: Question, x: Tensor) -> Tensor:
    """The operation itself."""
    if question.kind == "identity":
        return x
    if question.kind == "permutation":
        return x.index_select(0, torch.tensor(question.order))
    maps = question.taps if question.kind == "convolution" else (question.weight,)
    filters = tensor(maps).permute(2, 1, 0)  # (out, in, taps)
    return conv1d(pad(x.T[None], (len(maps) // 2,) * 2, mode="circular"), filters)[0].T


def _blocks(question: Question) -> dict[str, Tensor]:
    """The weights put together from blocks: positions rolled or reordered, contents passed on."""
    count, width = len(question.x), len(question.x[0])
    places, content = torch.eye(count, dtype=torch.float64), torch.eye(width, dtype=torch.float64)
    asked, reach = [places], len(question.taps) // 2
    if question.kind == "convolution":
        asked = [places.roll(offset, dims=1) for offset in range(-reach, reach + 1)]
    if question.kind == "permutation":
        asked = [places[list(question.order)]]
    if question.kind == "pointwise":
        content = tensor(question.weight)
    wanted = torch.stack([pad(float(question.sharpness) * rows, (0, 0, width, 0)) for rows in asked])
    found = {"w_q": wanted, "w_k": torch.stack([pad(places, (0, 0, width, 0))] * len(asked))}
    found["w_v"] = torch.stack([pad(content, (0, 0, 0, count))] * len(asked))
    return found | ({"w_o": tensor(question.taps).flatten(0, 1)} if question.kind == "convolution" else {})
