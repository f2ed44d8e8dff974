"""Kernel attention against sums over pairs written out, and costs counted by hand."""

import math
from fractions import Fraction
from functools import partial
from typing import Any

import pytest

from tests.lessons.solving import work
from vitruvius.core.errors import UserError
from vitruvius.lessons.kernel_attention import Question

worked = partial(work, "kernel_attention")


def test_the_default_question() -> None:
    # q.k: (1, 0, 2), (1, -1, 0), (0, 1, 2); plus 1 and squared
    _, found = worked()
    assert found["similarity"] == [[4, 1, 9], [4, 0, 1], [1, 4, 9]]
    assert found["output"] == [
        [Fraction(4 + 18, 14), Fraction(1 + 18, 14)],
        [Fraction(4 + 2, 5), Fraction(2, 5)],
        [Fraction(1 + 18, 14), Fraction(4 + 18, 14)],
    ]
    root = math.sqrt(2)
    # 1, sqrt 2 x, squares, sqrt 2 x_1 x_2 of the third query (1, -1)
    assert found["features"]["q"][2] == pytest.approx([1, root, -root, 1, 1, -root], rel=1e-15)


def test_the_causal_route_ends_where_the_others_do() -> None:
    steps, found = worked()
    causal = next(step.value for step in steps if "causal" in step.says)
    assert causal[0] == [1, 0]  # one key only
    assert causal[1] == [Fraction(4, 4), 0]  # the second key has similarity 0
    assert causal[2] == found["output"][2]


def test_costs_at_width_64() -> None:
    # C = 65 * 66 / 2 = 2145. Time: 2 N C (D + 1) < 2 N^2 D from N = 2145 * 65 / 64 = 2178.5 on.
    # Memory: N^2 + 3 N D > N (2 C + 2 D + 2) + C (D + 1), N^2 - 4228 N - 139425 > 0, from N = 4260.7 on.
    _, found = worked()
    assert found["multiply_adds"] == {"softmax": 2 * 4096**2 * 64, "features": 2 * 4096 * 2145 * 65}
    kept = {"softmax": 4096**2 + 3 * 4096 * 64, "features": 4096 * (2 * 2145 + 130) + 2145 * 65}
    assert found["kept"] == kept
    assert found["crossovers"] == {"multiply_adds": 2179, "kept": 4261}


def test_the_linear_kernel_crosses_at_its_width() -> None:
    _, found = worked(kernel="linear", dim=64)
    assert found["crossovers"]["multiply_adds"] == 66
    # elu(x) + 1: x + 1 from 0 on, e^x below
    assert found["features"]["q"] == [[2, 1], [1, 2], [2, pytest.approx(math.exp(-1), rel=1e-15)]]


def test_a_query_that_sees_nothing_gets_nothing() -> None:
    # q.k = -1 with both keys: every similarity is 0
    _, found = worked(q=[[1, 0], [2, 3]], k=[[-1, 2], [-1, 5]], v=[[1], [5]])
    assert found["output"][0] == [0]
    assert found["similarity"][0] == [0, 0]


def test_a_sign_without_strictness_is_named_as_the_mistake() -> None:
    steps, _ = worked()
    assert "mistake" in steps[0].says
    assert steps[0].value == pytest.approx(7 - 5 * math.sqrt(2))


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"q": [[1, 2, 3]]}, "k is 3 x 2: it needs M x D with D = 3 as in q"),
        ({"v": [[1]]}, "v is 1 x 1: it needs M x E with M = 3 as in k"),
        ({"q": [[1], [1, 2]]}, "q has rows of 1 or 2 entries"),
        ({"kernel": "softmax"}, "kernel"),
        ({"dim": 0}, "dim must be greater than or equal to 1"),
    ],
)
def test_a_question_that_does_not_fit_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as caught:
        Question(**fields)
    assert message in str(caught.value)


@pytest.mark.parametrize(("kernel", "d"), [("quadratic", 1), ("quadratic", 16), ("linear", 8)])
def test_three_countings_of_memory(kernel: str, d: int) -> None:
    steps, _ = worked(kernel=kernel, dim=d, tokens=10)
    c = (d + 1) * (d + 2) // 2 if kernel == "quadratic" else d

    def kept(n: int) -> int:
        return n * (2 * c + 2 * d + 2) + c * (d + 1)

    def again(n: int) -> int:
        return n * (4 * d + 2) + c * (d + 1)

    def softmax(n: int, squares: int) -> int:
        return squares * n * n + 3 * n * d

    found = next(step.value for step in steps if "what is counted" in step.says)
    lengths = range(1, 2000)
    assert found == {
        "scores_and_weights": next(n for n in lengths if softmax(n, 2) > kept(n)),
        "weights": next(n for n in lengths if softmax(n, 1) > kept(n)),
        "recomputed": next(n for n in lengths if softmax(n, 1) > again(n)),
    }
