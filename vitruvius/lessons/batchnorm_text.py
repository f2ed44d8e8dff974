r"""Why batch normalisation suits text badly: what padding and batch mates do to a word.

A batch of sentences of different length is filled up with a padding value; a word is the row vector of its features.
With a fraction $\varphi$ of padding $p$ the naive statistics are $(1-\varphi)\mu + \varphi p$ and
$(1-\varphi)\sigma^2 + \varphi(1-\varphi)(\mu - p)^2$, where $\mu, \sigma^2$ are those of the words alone.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from pydantic import model_validator

from vitruvius import lessons
from vitruvius.core.blocks import Bars
from vitruvius.lessons import Answer, Exact, Matrix, Proof, Step, _board, exact
from vitruvius.lessons._proofs import agree

if TYPE_CHECKING:
    from collections.abc import Sequence

    Array = np.ndarray[Any, Any]

SUBJECT = "training"
LARGEST = 4096


class Question(lessons.Question):
    """Sentences as lists of words, words as vectors of features: by default three sentences of 4, 2 and 1 words."""

    sentences: tuple[Matrix, ...] = exact(
        (((2, 1, 6), (4, 3, 2), (3, 5, 1), (5, 2, 4)), ((6, 4, 2), (1, 3, 5)), ((9, 7, 8),))
    )
    pad: Exact = exact(0)
    eps: Exact = exact("1/100000")
    """Added to each variance before the root."""

    @model_validator(mode="after")
    def _is_a_batch(self) -> Self:
        widths = {len(word) for sentence in self.sentences for word in sentence}
        if len(self.sentences) < 2 or not all(self.sentences) or len(widths) != 1 or max(widths) < 2:
            raise ValueError(
                f"sentences has {len(self.sentences)} sentences with words of {sorted(widths)} features: "
                "needs at least 2 sentences of at least 1 word, all words with one number of features from 2 on"
            )
        if len(self.sentences[0]) < 2:
            raise ValueError("the first of sentences has 1 word: needs at least 2 to have a variance of its own")
        if len(self.sentences) * max(map(len, self.sentences)) * max(widths) > LARGEST:
            raise ValueError(f"sentences needs at most {LARGEST} values after padding")
        if self.eps <= 0:
            raise ValueError(f"eps is {self.eps}: needs a number above 0")
        return self


class Statistics(NamedTuple):
    """Mean and variance of each feature, exact."""

    mean_F: "Array"
    variance_F: "Array"


def solve(question: Question) -> Iterator[Step | Answer]:
    """The statistics with padding, without it and without the mates, and what each makes of the first word."""
    words = [word for sentence in question.sentences for word in sentence]
    lengths = [len(sentence) for sentence in question.sentences]
    places = max(lengths) * len(lengths)
    padding = 1 - Fraction(len(words), places)
    cases = {
        "naive": _statistics(words + [(question.pad,) * len(words[0])] * (places - len(words))),
        "masked": _statistics(words),
        "alone": _statistics(question.sentences[0]),
    }
    yield _padding_step(question.pad, padding, cases["naive"], cases["masked"])
    within_word = _statistics([(x,) for x in words[0]])
    first_word = {
        name: _normalised(words[0], found, question.eps) for name, found in {**cases, "layer": within_word}.items()
    }
    yield _mates_step(first_word)
    support = [sum(length > place for length in lengths) for place in range(max(lengths))]
    yield Step(
        says=f"Statistics per position are no way out: position 1 is filled by {support[0]} sentences, position "
        f"{len(support)} by {support[-1]}, so the late ones rest on next to nothing, and a sentence longer than all of "
        "training has none. Running averages, used at inference, likewise describe the lengths and mates of training.",
        formula=rf"\mathrm{{sentences\ per\ position}} : {_board.row(support)}",
        value=support,
    )
    statistics = {name: {"mean": c.mean_F.tolist(), "variance": c.variance_F.tolist()} for name, c in cases.items()}
    yield Answer(fields={"padding": padding, **statistics, "first_word": first_word, "support": support})


def _padding_step(pad: Fraction, padding: Fraction, naive: Statistics, masked: Statistics) -> Step:
    share, filler = _board.number(padding), _board.number(pad)
    return Step(
        says=f"Fill the sentences up to one length: {float(padding):.1%} of the places hold padding. A naive batch "
        f"normalisation counts it, which moves the mean of feature 1 from {masked.mean_F[0]} to {naive.mean_F[0]}.",
        formula=rf"\mu = (1 - {share}) {_board.column(masked.mean_F.tolist())} + {share} \cdot {filler} = "
        rf"{_board.column(naive.mean_F.tolist())}, \quad \sigma^2 = (1 - {share}) "
        rf"{_board.column(masked.variance_F.tolist())} + {share} (1 - {share}) "
        rf"(\mu_{{\mathrm{{words}}}} - {filler})^2 = {_board.column(naive.variance_F.tolist())}",
        value={"padding": padding, "naive": naive._asdict(), "masked": masked._asdict()},
    )


def _mates_step(first_word: dict[str, list[float]]) -> Step:
    names = {
        "naive": "batch norm, padding counted",
        "masked": "batch norm, padding left out",
        "alone": "batch norm, sentence alone",
        "layer": "layer norm",
    }
    shown = r", \quad ".join(rf"\mathrm{{{name}}} : {_board.row(values)}" for name, values in first_word.items())
    return Step(
        says=f"The first word, normalised: {first_word['naive'][0]:.4g} in feature 1 with padding counted, "
        f"{first_word['masked'][0]:.4g} with padding left out, {first_word['alone'][0]:.4g} with its sentence alone. "
        "Leaving out the padding does not remove the mates: the same word in the same sentence means something else "
        "in every batch. Layer normalisation uses the word's own features and gives one answer in all batches.",
        formula=shown,
        value=first_word,
        figure=Bars(
            title="Feature 1 of the same word",
            names=tuple(names[name] for name in first_word),
            values=tuple(values[0] for values in first_word.values()),
            y_label="normalised value",
        ),
    )


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """PyTorch's padding, batch norm and layer norm."""
    import torch
    from torch import nn

    sentences = [
        torch.tensor([[float(x) for x in word] for word in sentence], dtype=torch.float64)
        for sentence in question.sentences
    ]
    padded_BTF = nn.utils.rnn.pad_sequence(sentences, batch_first=True, padding_value=float(question.pad))
    batches = {"naive": padded_BTF.flatten(0, 1), "masked": torch.cat(sentences), "alone": sentences[0]}
    eps, features = float(question.eps), padded_BTF.shape[2]
    words = {name: nn.BatchNorm1d(features, eps).double()(batch)[0] for name, batch in batches.items()}
    words["layer"] = nn.LayerNorm(features, eps).double()(sentences[0][0])
    for name, batch in batches.items():
        variance, mean = torch.var_mean(batch, dim=0, correction=0)
        yield agree(f"{name} statistics", "torch", answer[name], {"mean": mean, "variance": variance})
    found = {name: word.detach() for name, word in words.items()}
    yield agree("the first word", "torch.nn layers", answer["first_word"], found)
    marks = nn.utils.rnn.pad_sequence([torch.ones(len(sentence)) for sentence in sentences])
    yield agree("sentences per position", "padded marks", answer["support"], marks.sum(1))
    yield agree("padding", "padded marks", answer["padding"], (marks == 0).double().mean().item())


def _statistics(words: "Sequence[Sequence[Fraction]]") -> Statistics:
    words_NF = np.array(words, dtype=object)
    mean_F = words_NF.mean(axis=0)
    return Statistics(mean_F, ((words_NF - mean_F) ** 2).mean(axis=0))


def _normalised(word: "Sequence[Fraction]", found: Statistics, eps: Fraction) -> list[float]:
    root_F = np.sqrt((found.variance_F + eps).astype(float))
    return ((np.array(word, dtype=object) - found.mean_F).astype(float) / root_F).tolist()
