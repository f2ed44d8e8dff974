"""Every form of mask becomes one tensor, and an error names what is wrong with a mask."""

import pytest
import torch

from vitruvius.core.errors import UserError
from vitruvius.kernels import Edges, _inputs

Q, K = torch.zeros(2, 8, 3, 4), torch.zeros(2, 8, 5, 4)


def test_no_mask_stays_no_mask() -> None:
    assert _inputs.dense(None, Q, K) is None
    assert _inputs.factor(None, Q, K) is None


def test_causal_lets_query_i_see_keys_up_to_i_also_when_the_lengths_differ() -> None:
    seen = _inputs.dense("causal", Q, K)
    assert seen is not None
    assert seen[0, 0].int().tolist() == [[1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [1, 1, 1, 0, 0]]


def test_an_edge_runs_from_the_key_to_the_query() -> None:
    seen = _inputs.dense(Edges(source=torch.tensor([4]), target=torch.tensor([1])), Q, K)
    assert seen is not None
    assert seen[0, 0].nonzero().tolist() == [[1, 4]]


def test_no_edges_at_all_are_allowed() -> None:
    none = torch.zeros(0, dtype=torch.long)
    seen = _inputs.dense(Edges(none, none), Q, K)
    assert seen is not None
    assert not seen.any()


def test_a_float_mask_takes_the_type_of_the_queries() -> None:
    bias = _inputs.dense(torch.zeros(5, dtype=torch.float64), Q, K)
    assert bias is not None
    assert bias.dtype == torch.float32
    assert bias.shape == (1, 1, 1, 5)


def test_a_finite_mask_stays_finite_in_half_precision() -> None:
    mask = _inputs.dense(torch.tensor([-1e9, -torch.inf, 1e9, 0.5]), Q.half(), K[:, :, :4].half())
    assert mask is not None
    assert mask.flatten().tolist() == [-65504.0, -torch.inf, 65504.0, 0.5]


def test_inputs_of_several_types_or_of_whole_numbers_are_refused() -> None:
    for q in (Q.double(), Q.long()):
        with pytest.raises(UserError, match=r"attention inputs of type .*: expected one type of floats"):
            _inputs.check(q, q if q.dtype == torch.int64 else K.float())


def test_a_factor_is_the_exponential_of_the_mask_relative_to_the_largest_of_its_row() -> None:
    factor = _inputs.factor(torch.tensor([[0.0, -torch.inf, 1e30, 1e30, 0.0]]), Q, K)
    assert factor is not None
    assert factor.flatten().tolist() == [0.0, 0.0, 1.0, 1.0, 0.0]
    blind = _inputs.factor(torch.full((5,), -torch.inf), Q, K)
    assert blind is not None
    assert (blind == 0).all()


def test_an_unknown_word_says_what_else_a_mask_may_be() -> None:
    with pytest.raises(UserError) as error:
        _inputs.is_causal("upper")
    assert (
        str(error.value) == "no mask 'upper': choose from causal (or None, a bool or float tensor, or Edges)"
    )


def test_a_mask_that_does_not_fit_is_named_with_both_shapes() -> None:
    with pytest.raises(UserError) as error:
        _inputs.dense(torch.ones(3, 4, dtype=torch.bool), Q, K)
    assert str(error.value) == (
        "mask of shape (3, 4) does not broadcast to (batch, heads, queries, keys) = (2, 8, 3, 5)"
    )


def test_inputs_without_a_head_axis_are_named_with_their_shapes() -> None:
    with pytest.raises(
        UserError, match=r"^attention inputs q \(8, 3, 4\), k \(2, 8, 5, 4\): expected q \(batch, heads"
    ):
        _inputs.check(Q[0], K)
