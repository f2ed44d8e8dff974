"""Document 001, question by question: the value derived here, and the lesson's answer."""

from fractions import Fraction
from math import erf, exp, hypot, sqrt
from typing import Any

import numpy as np
import pytest

from vitruvius import lessons
from vitruvius.lessons import Answer


def answer(name: str, **fields: Any) -> dict[str, Any]:
    lesson = lessons.get(name)
    *_, found = lesson.solve(lesson.Question(**fields))
    assert isinstance(found, Answer)
    return found.fields


def close(values: Any) -> Any:
    return pytest.approx(values, rel=1e-9)


# 2(a): 200 x 1, 8 filters of 4 x 1, stride 2, no padding. 8 * 4 weights and 8 biases; floor((200 - 4) / 2) +
# 1 = 99.
def test_2a_a_convolution_of_a_sequence() -> None:
    found = answer("convolution", shape=[200, 1])
    assert (found["parameters"], found["output"]) == (40, [99, 8])


# 2(b): 28 x 28 x 3, 8 filters of 4 x 4 x 3. 8 * 48 weights and 8 biases; floor((28 - 4) / 2) + 1 = 13 on both
# axes.
def test_2b_a_convolution_of_an_image() -> None:
    found = answer("convolution")
    assert (found["weights"], found["biases"], found["parameters"]) == (384, 8, 392)
    assert found["output"] == [13, 13, 8]


FIRST = [[1, 1, 1, 0, 1], [1, 0, 1, 0, 1], [1, 1, 1, 0, 1], [0, 0, 0, 0, 1], [1, 1, 1, 1, 1]]
SECOND = [[0, 0, 0, 0, 0], [0, 1, 1, 1, 0], [0, 1, 0, 1, 0], [0, 1, 1, 1, 0], [0, 0, 0, 0, 0]]


def windows(matrix: list[list[int]]) -> list[list[list[int]]]:
    """The nine entries at each of the four places of a 3 x 3 window that moves by 2."""
    return [
        [[matrix[top + i][left + j] for i in range(3) for j in range(3)] for left in (0, 2)] for top in (0, 2)
    ]


# 2(c): the ones in a window over 9, and whether there is any.
def test_2c_average_and_max_pooling() -> None:
    output = answer("pooling")["output"]
    for index, matrix in enumerate((FIRST, SECOND)):
        assert output["average"][index] == [[Fraction(sum(w), 9) for w in row] for row in windows(matrix)]
        assert output["max"][index] == [[max(w) for w in row] for row in windows(matrix)]
    assert output["average"][0] == [[Fraction(8, 9), Fraction(2, 3)], [Fraction(2, 3), Fraction(2, 3)]]


# 2(d): a lost pixel changes an average by 1/9 and no maximum here, since each window keeps another 1; moved
# by one pixel, 21/50 of all pixels change, but no maximum does.
def test_2d_what_pooling_forgives() -> None:
    found = answer("pooling")
    assert found["missing"] == {"pixels": 1, "average": Fraction(1, 9), "max": 0}
    moved = [[[0, *row[:-1]] for row in matrix] for matrix in (FIRST, SECOND)]
    changed = sum(
        int((np.array(a) != np.array(b)).sum()) for a, b in zip(moved, (FIRST, SECOND), strict=True)
    )
    assert found["shift"]["pixels"] == Fraction(changed, 50)
    sums = [[sum(w) for row in windows(m) for w in row] for m in (FIRST, moved[0], SECOND, moved[1])]
    apart = sum(abs(a - b) for i in (0, 2) for a, b in zip(sums[i], sums[i + 1], strict=True))
    assert found["shift"]["average"] == Fraction(apart, 9 * 8)
    assert found["shift"]["max"] == 0


# 3(a): products of q2 = (2, -1, 3) with the keys: 4, 6 + 1 = 7, 2 + 6 = 8.
def test_3a_the_second_output_of_attention() -> None:
    found, powers = answer("attention"), [exp(4), exp(7), exp(8)]
    weights = [power / sum(powers) for power in powers]
    assert found["scores"] == [4, 7, 8]
    assert found["weights"] == close(weights)
    values = [[5, 4, 5], [3, 5, 5], [1, 2, 4]]
    assert found["output"] == close(
        [sum(w * v[i] for w, v in zip(weights, values, strict=True)) for i in range(3)]
    )
    assert found["form"] == "(v1*exp(4) + v2*exp(7) + v3*exp(8))/(exp(4) + exp(7) + exp(8))"


# 3(b): with the score 8 at minus infinity, weights e^4 and e^7 over their sum; all other ways leave a trace
# of step 3.
def test_3b_masking() -> None:
    found, w = answer("masking"), exp(4) / (exp(4) + exp(7))
    assert found["right"]["weights"] == close([w, 1 - w, 0])
    assert found["right"]["output"] == close([5 * w + 3 * (1 - w), 4 * w + 5 * (1 - w), 5])
    assert found["right"]["leak"] == {"keys": 0, "values": 0}
    assert all(
        hypot(*found[way]["leak"].values()) > 1e-3 for way in ("zero_score", "zero_weight", "finite_penalty")
    )


# 3(c)(a, b): for independent entries E[q_i k_i] = mu_i^2 and Var[q_i k_i] = (mu_i^2 + sigma^2)^2 - mu_i^4.
def test_3c_expectation_and_variance() -> None:
    found = answer("scaling", mean=[1, 2, -1], sigma=3)
    assert found["expectation"] == sum(m**2 for m in (1, 2, -1)) == 6
    assert found["variance"] == sum((m**2 + 9) ** 2 - m**4 for m in (1, 2, -1)) == 2 * 9 * 6 + 3 * 81


# 3(c)(c): with mean 0 and deviation 1 the variance is d, so the divisor is the root of d.
def test_3c_the_scale() -> None:
    assert answer("scaling") == {"expectation": 0, "variance": 64, "scale": 8}
    assert answer("scaling", mean="1/2", sigma=2, dim=5)["scale"] == close(
        sqrt(5 * ((1 / 4 + 4) ** 2 - 1 / 16))
    )


# 4(a): softmax(Q K^T / sqrt(d)) V for all three queries at once.
def test_4a_scaled_dot_product_attention() -> None:
    q, k = np.array([[1, 0, 4], [2, -1, 3], [4, 6, 1]]), np.array([[2, 0, 0], [3, -1, 0], [1, 0, 2]])
    power = np.exp(q @ k.T / sqrt(3))
    expected = power / power.sum(1, keepdims=True) @ np.array([[5, 4, 5], [3, 5, 5], [1, 2, 4]])
    found = answer("attention", step=None, scaled=True)
    assert found["output"] == [close(row) for row in expected.tolist()]
    assert [sum(row) for row in found["weights"]] == close([1, 1, 1])
    # The rows of the result are outputs, not weights: they do not sum to 1.
    assert all(sum(row) > 5 for row in found["output"])


# 4(b): u = x + MHA(LN(x)), y = u + MLP(LN(u)), on tokens of width 2 whose norms are (-1, 1) and (1, -1) up to
# eps. All values are (-1 + 1) = 0, so attention adds only its bias; then 5 GELU(first entry) goes to the
# second.
def test_4b_an_encoder_layer() -> None:
    weights = {"w_q": [[[1], [0]]], "w_k": [[[0], [1]]], "w_v": [[[1], [1]]], "w_o": [[1, 2]], "b_o": [1, 0]}
    found = answer("encoder_layer", x=[[1, 3], [2, 0]], **weights, w_1=[[1], [0]], w_2=[[0, 5]], eps="1e-12")
    gelu = [x * (1 + erf(x / sqrt(2))) / 2 for x in (-1, 1)]
    assert found["after_attention"] == [close([2, 3]), close([3, 0])]
    assert found["output"] == [close([2, 3 + 5 * gelu[0]]), close([3, 5 * gelu[1]])]


# 4(c): 28 x 28 in patches of 7 are 16 patches of 49 pixels. Width 64, 8 heads of 64, MLP 128, 6 layers, class
# token: 49*64+64 + 64 + 17*64 + 6*(2*64 + 4*64*512 + 64 + 2*64 + 2*64*128 + 128 + 64) + 2*64 + 64*10+10 =
# 892,938.
def test_4c_the_network_that_is_trained() -> None:
    patches = answer("patches")
    assert patches["tokens"] == 16
    assert patches["patches"][1][:3] == [7, 8, 9]
    assert answer("anatomy", arch="mnist")["parameters"] == 892_938
