"""Hard attention: the choice, its ties and its gradients."""

import torch
from torch import Tensor

from vitruvius.kernels import hardmax, softmax


def draw() -> tuple[Tensor, Tensor, Tensor]:
    random = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(2, 3, 5, 4, dtype=torch.float64, generator=random).requires_grad_() for _ in range(3)
    )
    return q, k, v


def test_the_key_with_the_largest_product_wins() -> None:
    q, k, v = (x.detach() for x in draw())
    out = hardmax.attend(q, k, v)
    for b, h, n in torch.cartesian_prod(torch.arange(2), torch.arange(3), torch.arange(5)).tolist():
        scores = [float(q[b, h, n].dot(key)) for key in k[b, h]]
        assert torch.equal(out[b, h, n], v[b, h, scores.index(max(scores))])


def test_the_first_of_equal_keys_wins() -> None:
    q, k = torch.ones(1, 1, 1, 1), torch.tensor([1.0, 3.0, 3.0]).view(1, 1, 3, 1)
    assert hardmax.weights(q, k).flatten().tolist() == [0.0, 1.0, 0.0]
    assert hardmax.attend(q, k, torch.tensor([5.0, 6.0, 7.0]).view(1, 1, 3, 1)).item() == 6.0


def test_a_float_mask_is_added_to_the_scaled_scores() -> None:
    q, k = torch.ones(1, 1, 1, 4), torch.tensor([1.0, 2.0]).view(1, 1, 2, 1).expand(1, 1, 2, 4)
    for bias, chosen in ((1.9, 1), (2.1, 0)):  # the scaled scores are 2 and 4
        assert hardmax.weights(q, k, torch.tensor([bias, 0.0])).argmax().item() == chosen


def test_gradients_reach_only_the_chosen_values() -> None:
    q, k, v = draw()
    weights = hardmax.weights(q, k)
    assert not weights.requires_grad
    dq, dk, dv = torch.autograd.grad(hardmax.attend(q, k, v).sum(), (q, k, v), allow_unused=True)
    assert dq is None
    assert dk is None
    assert torch.equal(dv, weights.sum(2).unsqueeze(-1).expand_as(v))


def test_straight_through_decides_hard_and_learns_soft() -> None:
    q, k, v = draw()
    causal, cotangent = "causal", torch.randn(2, 3, 5, 4, dtype=torch.float64)
    out = hardmax.attend(q, k, v, causal, straight_through=True)
    assert torch.equal(out, hardmax.attend(q, k, v, causal))
    dq, dk, dv = torch.autograd.grad((out * cotangent).sum(), (q, k, v))
    soft = torch.autograd.grad((softmax.attend(q, k, v, causal) * cotangent).sum(), (q, k))
    assert torch.allclose(dq, soft[0])
    assert torch.allclose(dk, soft[1])
    assert torch.allclose(dv, hardmax.weights(q, k, causal).mT @ cotangent)
