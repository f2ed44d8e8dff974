"""The review fits on a page, quotes computed sizes and names commands for what can be measured."""

import pytest

from tests.lessons.solving import answer_of
from vitruvius.core.errors import UserError
from vitruvius.lessons.paper_review import Question

answer = answer_of("paper_review")
SECTIONS = ("summary", "strengths", "weaknesses", "reflections")


def test_the_four_sections_fit_on_a_page() -> None:
    found = answer()
    assert 300 < sum(len(found[section].split()) for section in SECTIONS) == found["words"] <= 550


def test_the_sizes_are_those_of_the_base_network() -> None:
    # 12 layers of 4 D^2 + 2 D M weights and 9 D + M biases and norms, the patch map, class token, 197
    # positions, the last norm and the head, with D = 768 and M = 3072.
    layer = 4 * 768**2 + 2 * 768 * 3072 + 9 * 768 + 3072
    sizes = answer()["sizes"]
    assert sizes["patches"] == 14**2
    assert sizes["params"] == 12 * layer + (768 * 768 + 768) + 768 + 197 * 768 + 2 * 768 + 1000 * 769
    products = 12 * 2 * 197**2 * 768
    rest = 196 * 768 * 768 + 12 * 197 * (4 * 768**2 + 2 * 768 * 3072) + 768 * 1000
    assert sizes["macs"] == products + rest
    assert sizes["attention_share"] == pytest.approx(products / (products + rest), rel=1e-12)


def test_every_section_quotes_a_computed_number() -> None:
    found = answer(arch="mnist")
    for section, number in zip(SECTIONS, ("16 patches", "49 x 64", "10.5%", "289 edges"), strict=True):
        assert number in found[section]


@pytest.mark.parametrize(
    ("section", "figure", "source"),
    [
        ("summary", "303 million", "section 4.1"),
        ("summary", "88.55 %", "Table 2"),
        ("summary", "76.29 %", "Table 2"),
        ("strengths", "two to four times less", "section 4.4"),
        ("weaknesses", "85.30 %", "Table 2"),
        ("weaknesses", "79.9 %", "section 4.6"),
    ],
)
def test_a_figure_of_the_paper_names_its_place(section: str, figure: str, source: str) -> None:
    assert source in answer(arch="mnist")[section].split(figure)[1].split(". ")[0] + ")"


def test_every_claim_names_a_command() -> None:
    claims = answer()["claims"]
    commands = [claim["command"].split() for claim in claims]
    assert {command[0] for command in commands} == {"vitruvius"}
    assert {command[1] for command in commands} <= {"predict", "train", "pretrain", "explain", "list"}
    shown = " ".join(claim["shows"] for claim in claims)
    assert "distance.png" in shown
    assert "positions.png" in shown


def test_an_unknown_network_is_refused() -> None:
    with pytest.raises(UserError, match="did you mean 'mnist'"):
        Question(arch="mnst")
