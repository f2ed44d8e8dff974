r"""Why batch normalisation suits text badly: what padding and batch mates do to a word.

A batch of sentences of different length is filled up with a padding value; a word is the row vector of its
features. With a fraction $\varphi$ of padding $p$ the naive statistics are $(1-\varphi)\mu + \varphi p$ and
$(1-\varphi)\sigma^2 + \varphi(1-\varphi)(\mu - p)^2$, where $\mu, \sigma^2$ are those of the words alone."""

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import torch
from torch import nn

from vitruvius import lessons
from vitruvius.core.blocks import Bars
from vitruvius.core.counted import counted
from vitruvius.lessons import Answer, Attempt, Board, Exact, Matrix, Proof, Step, exact, latex
from vitruvius.lessons._board import added
from vitruvius.lessons._draws import whole
from vitruvius.lessons._proofs import agree
from vitruvius.lessons._tensors import Array, tensors

SUBJECT = "training"
TASK = (
    "Batch normalisation on text. Each sentence is a list of words, each word a vector of features; "
    "shorter sentences are filled up with words of padding (<pad> in every feature); epsilon is "
    "<eps>. Work out the share of padding, mean and variance of each feature over the words alone "
    "(masked), with padding counted (naive) and over the first sentence alone, and the first word of "
    "the first sentence normalised with each of them and by layer normalisation."
)
LARGEST = 4096
NAMES = (
    "batch norm, padding counted",
    "batch norm, padding left out",
    "batch norm, sentence alone",
    "layer norm",
)


class Question(lessons.Question):
    """Sentences as lists of words, words as vectors of features: by default three sentences of 4, 2 and 1
    words.
    """

    sentences: tuple[Matrix, ...] = exact(
        (((2, 1, 6), (4, 3, 2), (3, 5, 1), (5, 2, 4)), ((6, 4, 2), (1, 3, 5)), ((9, 7, 8),))
    )
    pad: Exact = exact(0)
    eps: Exact = exact("1/100000")
    """Added to each variance before the root."""

    def refuse(self) -> None:
        widths = {len(word) for sentence in self.sentences for word in sentence}
        if not self.sentences or not all(self.sentences) or len(widths) != 1 or max(widths) < 2:
            has = f"{counted(len(self.sentences), 'sentence')} with words of {sorted(widths)} features"
            needs = "at least 1 sentence, each of at least 1 word, all words with one number of features"
            raise ValueError(f"sentences has {has}: needs {needs} from 2 on")
        if len(self.sentences) * max(map(len, self.sentences)) * max(widths) > LARGEST:
            raise ValueError(f"sentences needs at most {LARGEST} values after padding")
        if self.eps <= 0:
            raise ValueError(f"eps is {self.eps}: needs a number above 0")


def solve(question: Question) -> Iterator[Step | Answer]:
    """The statistics with padding, without it and without mates, and the first word under each."""
    words = [word for sentence in question.sentences for word in sentence]
    lengths = [len(sentence) for sentence in question.sentences]
    places = max(lengths) * len(lengths)
    filled = words + [(question.pad,) * len(words[0])] * (places - len(words))
    batches = {"naive": filled, "masked": words, "alone": question.sentences[0]}
    cases = {name: _statistics(batch) for name, batch in batches.items()}
    shown = {name: {f"{of}_F": value for of, value in cases[name].items()} for name in ("naive", "masked")}
    board = Board(cases, pad=question.pad, padding=1 - Fraction(len(words), places))
    board |= {"words": len(words), **_sums([word[0] for word in words], cases["masked"]["mean"][0])}
    yield board.step(
        "Fill the sentences up to one length: <padding:.1%> of the places hold padding. A naive batch "
        "normalisation counts it, which moves the mean of feature 1 from <masked[mean][0]> to "
        "<naive[mean][0]>.",
        r"\mu_{\mathrm{words}, 1} = \frac{<sum>}{<words>} = <masked[mean][0]>, \quad "
        r"\sigma^2_{\mathrm{words}, 1} = \frac{<squares>}{<words>} = <masked[variance][0]>, \quad "
        r"\mu = (1 - <padding>) <masked[mean]:column> + <padding> \cdot <pad> = <naive[mean]:column>, \quad "
        r"\sigma^2 = (1 - <padding>) <masked[variance]:column> + <padding> (1 - <padding>) "
        r"(\mu_{\mathrm{words}} - <pad>)^2 = <naive[variance]:column>",
        board.pick("padding") | shown,
        shows="padding masked naive",
    )
    cases["layer"] = _statistics([(x,) for x in words[0]])
    deviations = {
        name: np.sqrt((found["variance"] + question.eps).astype(float)) for name, found in cases.items()
    }
    board |= {"own": len(question.sentences[0]), "eps": question.eps, "x": words[0][0]}
    board |= _sums([word[0] for word in question.sentences[0]], cases["alone"]["mean"][0])
    board["nothing"] = [0] * len(words[0])
    board["first_word"] = {
        name: (np.array(words[0]) - cases[name]["mean"]).astype(float) / deviations[name] for name in cases
    }
    yield _mates_step(board)
    yield board.step(
        "At the end of this road stands a batch of one row: its mean is the row itself and its variance 0, "
        "so whatever the word was, 0 comes out (then the learned shift), and nothing of the word is left to "
        "learn from. PyTorch's BatchNorm1d refuses it in training mode.",
        r"\mu = x, \quad \sigma^2 = 0, \quad \hat{x} = \frac{x - x}{\sqrt{0 + \epsilon}} = <nothing>",
    )
    board["support"] = [sum(length > place for length in lengths) for place in range(max(lengths))]
    board["last"] = max(lengths)
    yield board.step(
        "Statistics per position are no way out: position 1 is filled by <support[0]> sentences, position "
        "<last> by <support[-1]>, so the late ones rest on next to nothing, and a sentence longer than all "
        "of training has none. Running averages, used at inference, likewise describe the lengths and mates "
        "of training.",
        r"\mathrm{sentences\ per\ position} : <support>",
    )
    yield Answer(fields=board.pick("padding naive masked alone first_word support"))


def _statistics(words: Any) -> dict[str, Array]:
    """Mean and variance of each feature, exact."""
    words_NF = np.array(words, dtype=object)
    return {"mean": words_NF.mean(axis=0), "variance": words_NF.var(axis=0)}


def _sums(values: list[Fraction], mean: Fraction) -> dict[str, str]:
    """What the mean and the variance of some numbers divide, written out."""
    squares = [rf"({latex(value)} - {latex(mean)})^2" for value in values]
    return {"sum": added(values), "squares": added(squares)}


def _mates_step(board: Board) -> Step:
    first_word = board["first_word"]
    shown = [rf"\mathrm{{{name}}} : {latex(values)}" for name, values in first_word.items()]
    firsts = tuple(values[0] for values in first_word.values())
    return board.step(
        "The first word, normalised: <first_word[naive][0]:.4g> in feature 1 with padding counted, "
        "<first_word[masked][0]:.4g> with padding left out, <first_word[alone][0]:.4g> with its sentence "
        "alone. Leaving out the padding does not remove the mates: the same word in the same sentence means "
        "something else in every batch. Layer normalisation uses the word's own features and gives one "
        "answer in all batches.",
        r"\mu_{\mathrm{alone}, 1} = \frac{<sum>}{<own>} = <alone[mean][0]>, \quad "
        r"\sigma^2_{\mathrm{alone}, 1} = \frac{<squares>}{<own>} = <alone[variance][0]>, \quad "
        r"\frac{<x> - <naive[mean][0]>}{\sqrt{<naive[variance][0]> + <eps>}} = <first_word[naive][0]>, "
        r"\quad " + r", \quad ".join(shown),
        "first_word",
        Bars(title="Feature 1 of the same word", names=NAMES, values=firsts, y_label="normalised value"),
        shows="alone",
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """PyTorch's padding, batch norm and layer norm."""
    sentences = tensors(*question.sentences)
    padded_BTF = nn.utils.rnn.pad_sequence(sentences, batch_first=True, padding_value=float(question.pad))
    batches = {"naive": padded_BTF.flatten(0, 1), "masked": torch.cat(sentences), "alone": sentences[0]}
    eps, features = float(question.eps), padded_BTF.shape[2]
    words = {name: _normalised(batch, eps)[0] for name, batch in batches.items()}
    words["layer"] = nn.LayerNorm(features, eps).double()(sentences[0][0])
    for name, batch in batches.items():
        variance, mean = torch.var_mean(batch, dim=0, correction=0)
        yield agree(f"{name} statistics", "torch", answer[name], {"mean": mean, "variance": variance})
    found = {name: word.detach() for name, word in words.items()}
    yield agree("the first word", "torch.nn layers", answer["first_word"], found)
    marks = nn.utils.rnn.pad_sequence([torch.ones(len(sentence)) for sentence in sentences])
    yield agree("sentences per position", "padded marks", answer["support"], marks.sum(1))
    yield agree("padding", "padded marks", answer["padding"], (marks == 0).double().mean().item())


def _normalised(rows_NF: torch.Tensor, eps: float) -> torch.Tensor:
    """The layer in training mode; of one row, which it refuses, what it does to two copies of it."""
    rows_NF = rows_NF.expand(2, -1) if len(rows_NF) == 1 else rows_NF
    return nn.BatchNorm1d(rows_NF.shape[1], eps).double()(rows_NF)


def attempt(question: Question, write: Attempt) -> None:
    """The share of padding, three kinds of statistics, the first word under each."""
    words = np.array([word for sentence in question.sentences for word in sentence], float)
    first = np.array(question.sentences[0], float)
    places, pad = len(question.sentences) * max(map(len, question.sentences)), float(question.pad)
    padding = write(
        "padding",
        1 - len(words) / places,
        "share of the places that hold padding",
        "How many places has the filled-up batch, and how many of them hold a word?",
        r"\varphi = 1 - \frac{\text{words}}{\text{places}}",
        share_of_words=("the share of the words is given", len(words) / places),
        per_word=("the padding is divided by the words", places / len(words) - 1),
    )

    def statistics(of: str, rows: Array, over: str) -> Any:
        right = {"mean": rows.mean(0), "variance": rows.var(0)}
        return write(
            of,
            right,
            f"mean and variance of each feature over {over}",
            "Over which words is averaged, and by what number is divided?",
            r"\mu = \frac1n \sum_i x_i, \quad \sigma^2 = \frac1n \sum_i (x_i - \mu)^2",
            sample=("the variance is divided by n - 1", right | {"variance": rows.var(0, ddof=1)}),
        )

    masked = statistics("masked", words, "all words")
    mean, variance = masked["mean"], masked["variance"]
    mixed, within = (1 - padding) * mean + padding * pad, (1 - padding) * variance
    between = padding * (1 - padding) * (mean - pad) ** 2
    naive = write(
        "naive",
        {"mean": mixed, "variance": within + between},
        "mean and variance of each feature with padding counted",
        "What does a share of equal values do to a mean, and what to a variance?",
        r"(1 - \varphi) \mu + \varphi p, \quad (1 - \varphi) \sigma^2 + \varphi (1 - \varphi) (\mu - p)^2",
        no_between=(
            "the distance between words and padding is left out of the variance",
            {"mean": mixed, "variance": within},
        ),
    )
    alone = statistics("alone", first, "the first sentence")
    word, eps = first[0], float(question.eps)
    own = {"mean": word.mean(), "variance": word.var()}
    cases = {"naive": naive, "masked": masked, "alone": alone, "layer": own}

    def normalised(power: float) -> dict[str, Any]:
        return {name: (word - at["mean"]) / (at["variance"] + eps) ** power for name, at in cases.items()}

    write(
        "first_word",
        normalised(0.5),
        "the first word, normalised with each",
        "What is taken off, and what is divided by?",
        r"\hat x = \frac{x - \mu}{\sqrt{\sigma^2 + \epsilon}}",
        no_root=("the variance is divided by, not its root", normalised(1.0)),
    )


def draw(random: Random) -> dict[str, Any]:
    """Three sentences of 4, 2 and 1 words of three features."""
    return {"sentences": [whole(random, 1, 9, length, 3) for length in (4, 2, 1)]}
