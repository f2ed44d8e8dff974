r"""The original Transformer: against recurrent nets, its encoder and decoder in numbers, its sizes.

Vaswani et al., "Attention is all you need" (2017). The miniature has one encoder layer and one decoder layer
that share their maps and have no biases: N source tokens, M target tokens, D width, F hidden units, V words.
The other numbers are those of the paper's base model: a sentence of n tokens, width d."""

from collections.abc import Iterator
from random import Random
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import nn

from vitruvius import lessons
from vitruvius.lessons import Answer, Attempt, Board, Exact, Matrix, Proof, Step, exact
from vitruvius.lessons import _sequences as net
from vitruvius.lessons._draws import whole
from vitruvius.lessons._figures import curves, heatmap, numbered
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import Array, multiply_adds, softmax

SUBJECT = "attention"
TASK = (
    "The original Transformer. (1) A sentence of <length> tokens, width <width>: count the multiply-adds of "
    "self-attention (scores and weighted sum) and of a plain recurrent net (both maps of its state), the "
    "longest path between two tokens, the numbers each remembers, and what is left of a gradient through the "
    "recurrent net if a step multiplies it by <gain>. (2) Count the parameters of an encoder layer, a "
    "decoder layer and <depth> of both, with biases, for <mlp> hidden units. (3) Work out the miniature: "
    "rows are tokens, matrices multiply from the right, <small_heads> heads, all sublayers share "
    "their maps, no biases, LN(x + f(x)) with epsilon 1e-5, relu; the scores of words are products with the "
    "rows of "
    "embedding."
)
MAPS = ("w_q", "w_k", "w_v", "w_o", "w_1", "w_2")


class Question(lessons.Question):
    """The base model of the paper on a sentence of 50 tokens; a miniature of width 4."""

    limits = {"D": (2, 16), "F": (1, 32), "N": (1, 16), "M": (1, 16), "V": (1, 32)}

    length: Annotated[int, Field(ge=2, le=4096)] = 50
    width: Annotated[int, Field(ge=1, le=4096)] = 512
    heads: Annotated[int, Field(ge=1, le=64)] = 8
    mlp: Annotated[int, Field(ge=1, le=2**15)] = 2048
    depth: Annotated[int, Field(ge=1, le=64)] = 6
    """Encoder layers, and as many decoder layers."""
    words: Annotated[int, Field(ge=1, le=2**20)] = 37000
    """Size of the vocabulary; one table of it is shared by both inputs and the output."""
    gain: Annotated[Exact, Field(gt=0, le=2)] = exact("9/10")
    """What one step of the recurrent net multiplies a gradient by."""
    source: Annotated[Matrix, "N D"] = exact(((1, 0, 2, 1), (0, 2, 1, 0), (1, 1, 0, 3)))
    """Embeddings with their positions added, as `target`."""
    target: Annotated[Matrix, "M D"] = exact(((2, 0, 1, 0), (0, 1, 0, 2)))
    w_q: Annotated[Matrix, "D D"] = exact(((1, 0, 0, 1), (0, 1, 1, 0), (1, 0, 1, 0), (0, -1, 0, 1)))
    w_k: Annotated[Matrix, "D D"] = exact(((1, 1, 0, 0), (0, 1, 0, -1), (0, 0, 1, 1), (1, 0, 1, 0)))
    w_v: Annotated[Matrix, "D D"] = exact(((1, 0, 1, 0), (0, 1, 0, 1), (1, -1, 0, 0), (0, 0, 1, -1)))
    w_o: Annotated[Matrix, "D D"] = exact(((1, 0, 0, 1), (0, 1, 0, 0), (0, 1, 1, 0), (-1, 0, 0, 1)))
    w_1: Annotated[Matrix, "D F"] = exact(((1, 0, -1), (0, 1, 1), (1, -1, 0), (-1, 0, 1)))
    w_2: Annotated[Matrix, "F D"] = exact(((1, 0, 0, 1), (0, 1, 0, -1), (0, 0, 1, 1)))
    embedding: Annotated[Matrix, "V D"] = exact(((2, 0, 1, 0), (0, 1, 0, 2), (1, 1, 0, -1)))
    small_heads: Annotated[int, Field(ge=1, le=16)] = 2

    def refuse(self) -> None:
        widths = {"heads": ("width", self.width), "small_heads": ("the miniature's width", self.sizes["D"])}
        for field, (name, width) in widths.items():
            if width % (heads := getattr(self, field)):
                raise ValueError(f"{field} {heads} does not divide {name} {width}: needs a divisor")
        if float(self.gain) ** (self.length - 1) < 1e-250:
            raise ValueError(f"gain {self.gain} through {self.length} tokens leaves less than 1e-250")

    @property
    def maps(self) -> dict[str, Array]:
        """The matrices of the miniature."""
        return {name: self.array(name) for name in MAPS}

    def array(self, field: str) -> Array:
        """A matrix of the miniature."""
        return np.array(getattr(self, field), float)


def solve(question: Question) -> Iterator[Step | Answer]:
    """The two ways to read a sentence, the parts of the network, the miniature, the sizes."""
    board = Board({name: getattr(question, name) for name in type(question).model_fields})
    board |= {"n": question.length, "d": question.width, "steps": question.length - 1, **_counts(question)}
    yield from _against_recurrence(board)
    yield from _encoder_steps(question, board)
    yield from _decoder_steps(question, board)
    yield from _size_steps(question, board)
    names = "attention recurrent path state surviving encoder_layer decoder_layer parameters "
    miniature = "encoder_weights memory masked_weights cross_weights output probabilities"
    yield Answer(fields=board.pick(names + miniature))


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Torch's counter, torch's own encoder and decoder layers, autograd through a recurrence."""
    yield agree("costs", "torch's FLOP counter, halved", answer, _counted(question))
    yield agree("path and state", "breadth-first search; sizes of tensors", answer, _walked(question))
    start = torch.ones((), dtype=torch.float64, requires_grad=True)
    state = start
    for _ in range(question.length - 1):
        state = float(question.gain) * state
    (slope,) = torch.autograd.grad(state, start)
    yield agree("surviving", "autograd through the recurrence", answer["surviving"], slope)
    yield agree("parameters", "torch's layers, their parameters counted", answer, _modules(question))
    yield agree("miniature", "torch.nn's encoder and decoder layers", answer, _miniature(question))


def attempt(question: Question, write: Attempt) -> None:
    """The counts, then the miniature from the first attention to the words."""
    _attempt_counts(question, write)
    _attempt_sizes(question, write)
    memory = _attempt_encoder(question, write)
    output = _attempt_decoder(question, write, memory)
    logits = output @ question.array("embedding").T
    write(
        "probabilities",
        softmax(logits),
        "probabilities of the next word, one row for each target token",
        "Which scores does a word get, and over what does the softmax go?",
        r"\operatorname{softmax}(y E^T)",
        over_tokens=("the softmax goes over the tokens", softmax(logits.T).T),
    )


def draw(random: Random) -> dict[str, Any]:
    """A miniature of width 4 with other numbers, and other sizes of the large model."""
    heads, dim = random.choice((2, 4, 8)), random.choice((16, 32, 64))
    width = heads * dim
    given: dict[str, Any] = {"heads": heads, "width": width, "mlp": random.choice((3, 4)) * width}
    given |= {"length": random.randint(20, 90), "depth": random.randint(2, 12), "words": 1000}
    given |= {"gain": random.choice(("4/5", "9/10", "19/20"))}
    given |= {name: _turned(random) for name in ("w_q", "w_k", "w_v", "w_o")}
    given |= {"w_1": whole(random, -1, 1, 4, 3), "w_2": [random.sample((0, 1, -1, 2), 4) for _ in range(3)]}
    rows = {"source": 3, "target": 2, "embedding": 3}
    return given | {name: [random.sample(range(4), 4) for _ in range(count)] for name, count in rows.items()}


def _turned(random: Random) -> list[list[int]]:
    """An invertible map: ones in a random order, one further entry in each of two rows."""
    order = random.sample(range(4), 4)
    rows = [[int(column == place) for column in range(4)] for place in order]
    for row in random.sample(range(4), 2):
        rows[row][order[(row + 1) % 4]] = random.choice((-1, 1))
    return rows


def _counts(question: Question) -> dict[str, Any]:
    n, d, mlp = question.length, question.width, question.mlp
    block, feed, scale = 4 * (d * d + d), 2 * d * mlp + mlp + d, 2 * d
    encoder, decoder = block + feed + 2 * scale, 2 * block + feed + 3 * scale
    return {
        "attention": 2 * n * n * d,
        "recurrent": 2 * n * d * d,
        "path": {"attention": 1, "recurrent": n - 1},
        "state": {"attention": 2 * n * d, "recurrent": d},
        "surviving": float(question.gain) ** (n - 1),
        "block": block,
        "feed": feed,
        "encoder_layer": encoder,
        "decoder_layer": decoder,
        "parameters": question.depth * (encoder + decoder) + question.words * d,
    }


def _against_recurrence(board: Board) -> Iterator[Step]:
    board |= {"kept": board["state"]["attention"], "cheaper": "self-attention"}
    if board["n"] >= board["d"]:
        board["cheaper"] = "the recurrent net" if board["n"] > board["d"] else "neither"
    yield board.step(
        "A recurrent net (also an LSTM) reads <n> tokens one after the other into a state of fixed size, <d> "
        "numbers however long the sentence is: what does not fit is lost. Attention keeps a key and a value "
        "of every token, <kept> numbers, and looks them up; its memory grows with the sentence.",
        r"h_t = \tanh(W x_t + U h_{t-1}) \in \mathbb{R}^{d}, \qquad K, V \in \mathbb{R}^{n \times d}: "
        r"2 n d = 2 \cdot <n> \cdot <d> = <kept>",
        "state",
    )
    yield board.step(
        "From the first token to the last, a recurrent net needs n - 1 = <steps> steps that must wait for "
        "one another; attention connects every pair in 1, all tokens at once: it trains in parallel.",
        r"\text{path: } O(n) = <n> - 1 = <path[recurrent]> \text{ against } O(1) = <path[attention]>",
        "path",
    )
    yield board.step(
        "Along that path a gradient is multiplied <steps> times: it vanishes if a step shrinks it and "
        "explodes if it stretches it. With <gain> per step <surviving:.3g> of it is left. Gates (LSTM) bring "
        "the factor near 1; attention and its sums make the path short instead.",
        r"\left| \frac{\partial h_n}{\partial h_1} \right| \le g^{n-1} = \left( <gain> \right)^{<steps>} "
        r"= <surviving>",
    )
    lengths = [board["d"] * 2.0**power for power in range(-4, 4)]
    growth = {"self-attention, 2n²d": [2 * n * n * board["d"] for n in lengths]}
    growth["recurrent, 2nd²"] = [2 * n * board["d"] ** 2 for n in lengths]
    yield board.step(
        "The cost of a layer: scores and weighted sum take n^2 d products each, the two maps of a recurrent "
        "step d^2 each. Attention is cheaper while n < d, here <n> against <d>: <cheaper> is cheaper. (With "
        "its four maps attention takes 4nd^2 more, an LSTM with four gates 8nd^2 in all: then the border is "
        "n = 2d.)",
        r"2 n^2 d = <attention> \text{ against } 2 n d^2 = <recurrent>, \qquad 2 n^2 d < 2 n d^2 \iff n < d",
        "attention recurrent",
        curves("Cost of one layer", growth, lengths, ("tokens n", "multiply-adds"), log="xy"),
    )


def _encoder_steps(question: Question, board: Board) -> Iterator[Step]:
    source_ND, size = question.array("source"), question.sizes
    run = net.encode(question.maps, question.small_heads, source_ND)
    board |= run._asdict() | {"seen": run.seen_ND, "small": size["D"], "N": size["N"]}
    board["head"] = size["D"] // question.small_heads
    board["scores"] = net.scores(question.maps, question.small_heads, source_ND, source_ND)[0]
    board["fed"] = net.fed(question.maps, run.seen_ND)
    yield board.step(
        "The encoder reads the source: embeddings times the root of the width, plus sines and cosines of the "
        "position, since attention alone sees a set. In its self-attention queries, keys and values are "
        "three maps of the same <N> tokens, so what is mixed depends on the tokens themselves. "
        "<small_heads> heads of <head> columns compare in <small_heads> ways at once at the price "
        "of one; in one head the ways would be averaged.",
        r"A_i = \operatorname{softmax}\left(\frac{Q_i K_i^T}{\sqrt{<head>}}\right), \qquad A_1 = "
        r"\operatorname{softmax} <scores> = <encoder_weights[0]>",
        "encoder_weights",
    )
    yield board.step(
        "Behind every part stands a sum with its input and then layer normalisation: each token's <small> "
        "entries get mean 0 and variance 1 by their own statistics, independent of the batch and of the "
        "length. The sum lets signals and gradients pass, the norm keeps their size equal in every layer. "
        "(The paper normalises after the sum; before the part, as a ViT does, deep networks train better.)",
        r"u = \mathrm{LN}(x + [A_1 V_1; \dots; A_H V_H] W_o) = <seen>, \quad \mathrm{LN}(z) = \gamma "
        r"\odot \frac{z - \bar z}{\sqrt{\mathrm{var}(z) + \epsilon}} + \beta",
        "seen",
    )
    yield board.step(
        "The feed-forward part: two maps with relu between, the same for every token, each token alone (a "
        "convolution of kernel 1). Attention only mixes values linearly; here each token is transformed, in "
        "a space that is wider (<mlp> units for width <width> in the paper's base model). Sum and norm "
        "again give the memory of <N> tokens.",
        r"\mathrm{memory} = \mathrm{LN}(u + \max(0, u W_1) W_2) = \mathrm{LN}\left(<seen> + <fed>\right) "
        r"= <memory>",
    )


def _decoder_steps(question: Question, board: Board) -> Iterator[Step]:
    run = net.decode(question.maps, question.small_heads, question.array("target"), board["memory"])
    count, logits = question.sizes["M"], run.output @ question.array("embedding").T
    board |= run._asdict() | {"M": count, "logits": logits, "probabilities": softmax(logits)}
    board |= {"asked": run.asked_MD, "fed": net.fed(question.maps, run.asked_MD)}
    yield board.step(
        "The decoder writes the target from left to right. Its self-attention is masked: scores of later "
        "tokens are minus infinity before the softmax, so token 1 sees itself alone. So all <M> tokens are "
        "trained at once although none has seen what it must predict.",
        r"\operatorname{softmax}\left(\frac{Q_1 K_1^T}{\sqrt{<head>}} + \mathrm{mask}\right) = "
        r"<masked_weights[0]>",
        "masked_weights",
    )
    rows = [
        f"head {head + 1} {name}" for head in range(question.small_heads) for name in numbered("y", count)
    ]
    board["scores"] = net.scores(question.maps, question.small_heads, run.heard_MD, board["memory"])[0]
    table = run.cross_weights.reshape(len(rows), -1)
    yield board.step(
        "Cross-attention joins the two: queries come from the decoder (<M> tokens), keys and values from the "
        "encoder's memory (<N> tokens), so the weights are <M> x <N> and nothing is masked. It replaces the "
        "one state through which a recurrent encoder had to pass the whole sentence.",
        r"Q = u W_q, \; K = \mathrm{memory}\, W_k, \; V = \mathrm{memory}\, W_v, \qquad A_1 = "
        r"\operatorname{softmax} <scores> = <cross_weights[0]>",
        "cross_weights",
        heatmap("Cross-attention: target tokens look at source tokens", table, rows, "x"),
    )
    yield board.step(
        "Sum and norm, the feed-forward part, sum and norm: a decoder layer has 3 parts where an encoder "
        "layer has 2.",
        r"y = \mathrm{LN}(u' + \max(0, u' W_1) W_2) = \mathrm{LN}\left(<asked> + <fed>\right) = <output>",
    )
    yield board.step(
        "The words' scores are products with the table of embeddings, the same that made the inputs; softmax "
        "gives 1 distribution for each target token.",
        r"\operatorname{softmax}(y E^T) = \operatorname{softmax} <logits> = <probabilities>",
    )


def _size_steps(question: Question, board: Board) -> Iterator[Step]:
    board["dim"] = question.width // question.heads
    board["stack"] = board["encoder_layer"] + board["decoder_layer"]
    yield board.step(
        "Sizes: <heads> heads of <dim> entries, width <width>, <mlp> hidden units. An encoder layer has 1 "
        "attention, 1 feed-forward part and 2 norms; a decoder layer 2 attentions, 1 feed-forward part and 3 "
        "norms.",
        r"4(d^2 + d) = <block>, \; 2 d f + f + d = <feed>, \; 2 d \text{ per norm}: \quad <encoder_layer> "
        r"\text{ and } <decoder_layer>",
        "encoder_layer decoder_layer",
    )
    yield board.step(
        "<depth> layers of each and one shared table of <words> words: <parameters:,> parameters; the "
        "positions have none.",
        r"<depth> \cdot <stack> + <words> \cdot <width> = <parameters>",
    )


def _attempt_counts(question: Question, write: Attempt) -> None:
    n, d, gain = question.length, question.width, float(question.gain)
    right = _counts(question)
    write(
        "state",
        right["state"],
        "numbers that each remembers of the sentence",
        "Does the memory grow with the sentence, and what is kept of a token?",
        r"d \text{ (recurrent)}, \quad 2 n d \text{ (keys and values)}",
        keys_only=("only the keys are counted, not the values", {"attention": n * d, "recurrent": d}),
    )
    write(
        "path",
        right["path"],
        "steps from the first token to the last",
        "Through how many tokens must a signal pass?",
        r"1 \text{ (attention)}, \quad n - 1 \text{ (recurrent)}",
        one_more=("the first token is counted as a step", {"attention": 1, "recurrent": n}),
    )
    write(
        "surviving",
        right["surviving"],
        "what is left of a gradient from the last state to the first",
        "How often is it multiplied?",
        r"g^{n-1}",
        times=("the factors are added instead of multiplied", gain * (n - 1)),
    )
    write(
        "attention",
        right["attention"],
        "multiply-adds of scores and weighted sum",
        "How many pairs of tokens are there, and how many products does a pair take?",
        r"2 n^2 d",
        scores_only=("the weighted sum is forgotten", n * n * d),
    )
    write(
        "recurrent",
        right["recurrent"],
        "multiply-adds of the two maps of the recurrent net",
        "What does one step multiply, and how many steps are there?",
        r"2 n d^2",
        one_step=("one step only is counted", 2 * d * d),
        state_only=("the map of the input is forgotten", n * d * d),
    )


def _attempt_sizes(question: Question, write: Attempt) -> None:
    d, counts = question.width, _counts(question)
    encoder = write(
        "encoder_layer",
        counts["encoder_layer"],
        "parameters of an encoder layer",
        "Which maps, biases and norms does it have?",
        r"4 (d^2 + d) + (2 d f + f + d) + 2 \cdot 2 d",
        no_biases=("the biases are forgotten", 4 * d * d + 2 * d * question.mlp + 4 * d),
        one_norm=("one of the two norms is forgotten", counts["encoder_layer"] - 2 * d),
    )
    decoder = write(
        "decoder_layer",
        encoder + counts["block"] + 2 * d,
        "parameters of a decoder layer",
        "What does it have beside the parts of an encoder layer?",
        r"\text{encoder layer} + 4 (d^2 + d) + 2 d",
        no_cross=("the cross-attention is forgotten", encoder),
        no_third_norm=("the third norm is forgotten", encoder + counts["block"]),
    )
    table, layers = question.words * d, question.depth * (encoder + decoder)
    write(
        "parameters",
        layers + table,
        "all parameters, the table of embeddings counted once",
        "How many layers of each kind are there, and what else is learned?",
        r"L (\text{encoder layer} + \text{decoder layer}) + V d",
        no_table=("the table of embeddings is forgotten", layers),
        three_tables=("the shared table is counted three times", layers + 3 * table),
    )


def _attempt_encoder(question: Question, write: Attempt) -> Array:
    maps, heads, x = question.maps, question.small_heads, question.array("source")
    scores, root = net.scores(maps, heads, x, x), (x.shape[1] / heads) ** 0.5
    weights = write(
        "encoder_weights",
        softmax(scores),
        "attention weights of the encoder, head by head",
        "Which columns belong to a head, and by what are its scores divided?",
        r"\operatorname{softmax}(Q_i K_i^T / \sqrt{D / H})",
        unscaled=("the scores are not divided by the root of the head width", softmax(scores * root)),
        exchanged=("queries and keys are exchanged", softmax(scores.swapaxes(1, 2))),
    )
    mixed = net.mixed(maps, weights, x)
    seen = net.norm(x + mixed)
    before = x + net.mixed(maps, weights, net.norm(x))
    found: Array = write(
        "memory",
        net.behind(maps, seen),
        "what the encoder gives to the decoder",
        "Where do the sums and the norms stand?",
        r"u = \mathrm{LN}(x + \mathrm{MHA}(x)), \quad \mathrm{LN}(u + \max(0, u W_1) W_2)",
        no_sum=("the sum around the attention is forgotten", net.behind(maps, net.norm(mixed))),
        pre_norm=("the norms stand before the parts", before + net.fed(maps, net.norm(before))),
        no_relu=("relu is forgotten", net.norm(seen + seen @ maps["w_1"] @ maps["w_2"])),
    )
    return found


def _attempt_decoder(question: Question, write: Attempt, memory: Array) -> Array:
    maps, heads, y = question.maps, question.small_heads, question.array("target")
    scores = net.scores(maps, heads, y, y)
    hidden, zeroed = net.causal(scores), net.causal(scores, 0.0)
    weights = write(
        "masked_weights",
        softmax(hidden),
        "weights of the masked self-attention, head by head",
        "Which tokens may a token see, and what happens to the scores of the others?",
        r"\operatorname{softmax}(Q_i K_i^T / \sqrt{D / H} + \mathrm{mask})",
        no_mask=("nothing is masked", softmax(scores)),
        zero_score=("later tokens get the score 0 instead of minus infinity", softmax(zeroed)),
    )
    heard = net.norm(y + net.mixed(maps, weights, y))
    across = net.scores(maps, heads, heard, memory)
    down = softmax(across.swapaxes(1, 2))
    cross = write(
        "cross_weights",
        softmax(across),
        "weights of the cross-attention, head by head: a row for each target token",
        "Which sequence asks, and which one is asked?",
        r"\operatorname{softmax}((u W_q)_i (\mathrm{memory}\, W_k)_i^T / \sqrt{D / H})",
        unheard=("the queries come from the target itself", softmax(net.scores(maps, heads, y, memory))),
        over_queries=("the softmax goes over the target tokens", down.swapaxes(1, 2)),
    )
    asked = net.norm(heard + net.mixed(maps, cross, memory))
    found: Array = write(
        "output",
        net.behind(maps, asked),
        "output of the decoder",
        "What follows the cross-attention?",
        r"\mathrm{LN}(u' + \max(0, u' W_1) W_2)",
        no_feed=("the feed-forward part is forgotten", asked),
        no_last_norm=("the last norm is forgotten", asked + net.fed(maps, asked)),
    )
    return found


def _counted(question: Question) -> dict[str, int]:
    n, d = question.length, question.width
    with torch.device("meta"):
        x_nd, pairs_nn, map_dd = torch.empty(n, d), torch.empty(n, n), torch.empty(d, d)
    pairs = multiply_adds(lambda: (x_nd @ x_nd.T, pairs_nn @ x_nd))
    step = multiply_adds(lambda: (x_nd[:1] @ map_dd, x_nd[:1] @ map_dd))
    return {"attention": pairs, "recurrent": n * step}


def _walked(question: Question) -> dict[str, dict[str, int]]:
    n, d = question.length, question.width

    def hops(reaches: Any) -> int:
        """Steps from token 0 until the last one is reached; the furthest of the reached ones goes on."""
        place, count = 0, 0
        while place < n - 1:
            place, count = max(reaches(place)), count + 1
        return count

    path = {"attention": hops(lambda _: range(n)), "recurrent": hops(lambda t: (t, t + 1))}
    with torch.device("meta"):
        cell, kept = nn.RNNCell(d, d), [torch.empty(n, d) for _ in "kv"]
    state = {"attention": sum(x.numel() for x in kept), "recurrent": cell.weight_hh.shape[1]}
    return {"path": path, "state": state}


def _modules(question: Question) -> dict[str, int]:
    with torch.device("meta"):
        sizes = (question.width, question.heads, question.mlp)
        layers = nn.TransformerEncoderLayer(*sizes), nn.TransformerDecoderLayer(*sizes)
        table = nn.Embedding(question.words, question.width)
    encoder, decoder, words = (sum(p.numel() for p in module.parameters()) for module in (*layers, table))
    total = question.depth * (encoder + decoder) + words
    return {"encoder_layer": encoder, "decoder_layer": decoder, "parameters": total}


def _miniature(question: Question) -> dict[str, Any]:
    """Everything the miniature computes, by torch's layers."""
    given = (question.array(name) for name in ("source", "target", "embedding"))
    return net.by_torch(question.maps, question.small_heads, *given)
