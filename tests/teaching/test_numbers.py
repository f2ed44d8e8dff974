"""Numbers as students write them: exact where exact, judged to the digits written, never evaluated."""

import math
import random
from fractions import Fraction

import pytest

from vitruvius.core.errors import UserError
from vitruvius.teaching import numbers
from vitruvius.teaching.numbers import Written, read


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-8/9", Fraction(-8, 9)),
        ("2/4", Fraction(1, 2)),
        ("25%", Fraction(1, 4)),
        ("sqrt(9/4)", Fraction(3, 2)),
        ("2^-3", Fraction(1, 8)),
        ("-2^2", -4),
        ("2**3**2", 512),
        ("1 - 2 - 3", -4),
        ("8/4/2", 1),
        ("2(3)", None),
        ("0.5", Fraction(1, 2)),
        ("1e-3", Fraction(1, 1000)),
        ("−1/2", Fraction(-1, 2)),
        ("3·4", 12),
        (" ( 1 + 2 ) * 3 ", 9),
        (Fraction(1, 3), Fraction(1, 3)),
        (7, 7),
    ],
)
def test_exact_numbers_stay_exact(text: object, value: object) -> None:
    if value is None:
        with pytest.raises(UserError, match="one too many"):
            read(text)
        return
    assert read(text).value == value
    assert not isinstance(read(text).value, float)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("e^2/(1+e^2)", math.e**2 / (1 + math.e**2)),
        ("sqrt(3)/2", math.sqrt(3) / 2),
        ("√3/2", math.sqrt(3) / 2),
        ("ln(2)", math.log(2)),
        ("2pi", None),
        ("2*π", 2 * math.pi),
        ("exp(-1/2)", math.exp(-0.5)),
        ("sigmoid(1)", 1 / (1 + math.exp(-1))),
        ("tanh(0.30)", math.tanh(0.3)),
        ("2^(1/2)", math.sqrt(2)),
        ("abs(-sqrt(2))", math.sqrt(2)),
    ],
)
def test_expressions_have_the_value_that_python_gives(text: str, value: float | None) -> None:
    if value is None:
        with pytest.raises(UserError, match="one too many"):
            read(text)
    else:
        assert float(read(text).value) == pytest.approx(value, rel=1e-14)


@pytest.mark.parametrize(
    ("text", "truth", "right"),
    [
        ("0.3333", 1 / 3, True),
        ("0.3334", 1 / 3, False),
        ("0.333", 1 / 3, True),
        ("0.33", 1 / 3, True),
        ("0.3", 1 / 3, False),  # one digit means three tenths
        ("0.3", Fraction(3, 10), True),
        ("0.01", 0.0132, True),  # beside 0.27 and 0.72
        ("0.01", 0.0152, True),  # cut off
        ("0.01", 0.0201, False),
        ("0.666", 2 / 3, True),  # cut off
        ("0.667", 2 / 3, True),
        ("0.668", 2 / 3, False),
        ("-0.666", -2 / 3, True),
        ("0.666", -2 / 3, False),
        ("1/3", Fraction(1, 3), True),
        ("1/3", 1 / 3, True),
        ("0.3333333333", Fraction(1, 3), True),
        ("1/3", Fraction(333333, 10**6), False),
        ("12", 12, True),
        ("12.0", 12, True),
        ("12.4", 12, False),
        ("11.9", 12, False),
        ("1.2e3", 1234, False),  # a count is exact
        ("1.2e3", 1234.0, True),
        ("0.00", 1e-4, True),
        ("0", 1e-4, False),
        ("3", 3.4, False),
        ("0.5000", 0.52, False),
        ("2*0.25", 0.5, True),
    ],
)
def test_a_number_is_judged_to_the_digits_that_were_written(text: str, truth: float, right: bool) -> None:
    assert read(text).fits(truth) is right


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it ends too early"),
        ("1,5", "a decimal has a point"),
        ("x", "'x' is unknown"),
        ("1/0", "divides by 0"),
        ("sqrt(-1)", "negative"),
        ("(1", "not closed"),
        ("1)", "one too many"),
        ("2e^3", "a product is written with *"),
        ("2sqrt(3)", "a product is written with *"),
        ("2(3+1)", "a product is written with *"),
        ("sqrt 3", "needs brackets"),
        ("9^9^9^9", "too large"),
        ("1e999", "too large"),
        ("10^64*10^64", "too large"),
        ("(" * 50 + "1" + ")" * 50, "nested"),
        ("-" * 50 + "1", "nested"),
        ("1+" * 150 + "1", "at most 200"),
        ("__import__('os')", "is not a number"),
        ("nan", "unknown"),
        ("inf", "unknown"),
        ("exp(10000)", "is not a number"),
        ("(-1)^0.5", "negative"),
        ("0^-1", "is not a number"),
    ],
)
def test_what_has_no_value_is_refused_in_a_sentence(text: str, words: str) -> None:
    with pytest.raises(UserError, match=".") as refused:
        read(text)
    assert words in str(refused.value)


def test_hostile_strings_give_a_number_or_a_sentence_and_never_run() -> None:
    """A thousand strings of code, brackets, signs and digits: each is a small number or refused."""
    pieces = [
        "9",
        "1e9",
        "0.1",
        "^",
        "**",
        "(",
        ")",
        "+",
        "-",
        "*",
        "/",
        "%",
        "sqrt(",
        "exp(",
        "e",
        "pi",
        "log(",
    ]
    pieces += [
        "__import__('os').system('touch hacked')",
        "lambda:0",
        "[]",
        "{}",
        ".",
        ",",
        ";",
        "\n",
        "\x00",
        "٣",
    ]
    pieces += [
        "open('x')",
        "eval(",
        "while True:",
        "9" * 60,
        "1_000",
        "0x1f",
        "1j",
        "√",
        "²",
        "a.b",
        "'",
        '"',
    ]
    dice = random.Random(0)
    for _ in range(1000):
        text = "".join(dice.choice(pieces) for _ in range(dice.randint(1, 12)))
        try:
            found = read(text)
        except UserError:
            continue
        assert math.isfinite(float(found.value))
        assert abs(float(found.value)) <= numbers.LARGEST


@pytest.mark.parametrize("value", [True, None, [1], {"a": 1}])
def test_other_types_are_no_numbers(value: object) -> None:
    with pytest.raises(UserError, match="is not a number"):
        read(value)


def test_floats_of_python_are_judged_like_their_digits() -> None:
    assert read(1 / 3).fits(Fraction(1, 3))
    assert read(0.12).unit == pytest.approx(0.01)
    assert Written(1.0 + 1e-8, 1e-8).fits(1.0)  # a float32 is rounded further than its digits say
