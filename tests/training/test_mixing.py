"""Mixup and CutMix: shares follow a Beta distribution, labels follow the pixels, parts equal the whole."""

import pytest
import torch
from scipy import stats

from vitruvius.objectives import Batch
from vitruvius.objectives.classify import classify
from vitruvius.training import mixing
from vitruvius.training.batches import Batches
from vitruvius.training.recipe import Augment, Mixing


@pytest.mark.parametrize("alpha", [0.2, 1.0, 3.0])
def test_shares_follow_the_beta_distribution(alpha: float) -> None:
    share = mixing.draw(0, 1, 2000, Mixing(mixup=alpha)).share
    assert stats.kstest(share.numpy(), stats.beta(alpha, alpha).cdf).pvalue > 1e-3
    assert stats.kstest(share.numpy(), stats.beta(2 * alpha, alpha).cdf).pvalue < 1e-3


def test_partners_are_a_permutation_and_a_coin_decides_between_both() -> None:
    drawn = mixing.draw(0, 1, 4000, Mixing(mixup=1.0, cutmix=1.0))
    assert torch.equal(drawn.partner.sort().values, torch.arange(4000))
    assert drawn.cuts.float().mean().item() == pytest.approx(0.5, abs=0.04)
    assert mixing.draw(0, 1, 10, Mixing(cutmix=1.0)).cuts.all()
    assert not mixing.draw(0, 1, 10, Mixing(mixup=1.0)).cuts.any()
    assert not torch.equal(
        mixing.draw(0, 2, 10, Mixing(mixup=1.0)).share, mixing.draw(1, 2, 10, Mixing(mixup=1.0)).share
    )


def test_a_blend_is_the_weighted_mean_of_both_images() -> None:
    x, other = torch.rand(3, 1, 4, 4, dtype=torch.float64), torch.rand(3, 1, 4, 4, dtype=torch.float64)
    y, theirs = torch.tensor([0, 1, 2]), torch.tensor([2, 2, 2])
    mixture = mixing.draw(0, 1, 3, Mixing(mixup=1.0))
    found = mixing.mix(Batch(x, y), Batch(other, theirs), mixture)
    share = mixture.share.view(3, 1, 1, 1)
    torch.testing.assert_close(found.x, share * x + (1 - share) * other)
    assert torch.equal(found.share, mixture.share)  # type: ignore[arg-type]
    assert torch.equal(found.other, theirs)  # type: ignore[arg-type]


def test_a_pasted_box_has_the_share_that_its_label_gets() -> None:
    count, side = 500, 16
    mixture = mixing.draw(0, 1, count, Mixing(cutmix=1.0))
    zeros, ones = torch.zeros(count, 1, side, side), torch.ones(count, 1, side, side)
    y = torch.zeros(count, dtype=torch.long)
    found = mixing.mix(Batch(zeros, y), Batch(ones, y + 1), mixture)
    pasted = found.x.mean((1, 2, 3))
    torch.testing.assert_close(1 - found.share, pasted)  # type: ignore[operator]
    assert (pasted <= (1 - mixture.share) + 0.15).all()  # smaller where the border cuts it
    inside = (mixture.centre - 0.5).abs().amax(1) + (1 - mixture.share).sqrt() / 2 < 0.45
    assert (pasted - (1 - mixture.share))[inside].abs().mean() < 0.05
    rows = found.x[0, 0].amax(1)
    assert (rows.diff().abs().sum() <= 2).item()  # one box, not scattered pixels


def test_mixed_labels_are_counted_by_their_shares_in_float64() -> None:
    scores = torch.randn(4, 3, dtype=torch.float64)
    y, other = torch.tensor([0, 1, 2, 0]), torch.tensor([1, 1, 0, 2])
    share = torch.tensor([1.0, 0.25, 0.5, 0.0], dtype=torch.float64)
    batch = Batch(scores, y, other, share)
    found = classify(torch.nn.Identity(), batch, torch.Generator(), label_smoothing=0.1)
    log_p = scores.log_softmax(1)
    targets = torch.full((4, 3), 0.1 / 3, dtype=torch.float64)
    for row in range(4):
        targets[row, y[row]] += 0.9 * share[row]
        targets[row, other[row]] += 0.9 * (1 - share[row])
    torch.testing.assert_close(found.value, -(targets * log_p).sum(1).mean())
    assert int(found.correct) == int((scores.argmax(1) == torch.tensor([0, 1, 2, 2])).sum())  # type: ignore[arg-type]


def test_the_mixed_images_of_a_part_are_those_of_the_whole_batch() -> None:
    x = torch.randint(256, (20, 1, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    train = Batches(x, torch.arange(20) % 3, augment=Augment(shift=1), mixing=Mixing(mixup=0.5, cutmix=0.5))
    order = train.order(2)
    whole, parts = train.batch(order, 2), [train.batch(part, 2) for part in order.split(7)]
    for field in ("x", "y", "other", "share"):
        assert torch.equal(getattr(whole, field), torch.cat([getattr(part, field) for part in parts]))
    assert train.batch(order).other is None  # nothing is mixed in evaluation
