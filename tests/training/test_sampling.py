"""Balanced classes and repeated images: counts per class and per sample, other augmentation for each copy."""

import torch

from vitruvius.objectives import Batch
from vitruvius.objectives.classify import classify
from vitruvius.training import sampling
from vitruvius.training.batches import Batches
from vitruvius.training.recipe import Augment, Sampling

LABELS = torch.tensor([0] * 30 + [1] * 9 + [3] * 2)


def batches(**chosen: object) -> Batches:
    x = torch.randint(256, (41, 1, 8, 8), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    return Batches(x, LABELS, augment=Augment(shift=3), sampling=Sampling(**chosen))


def test_every_class_is_drawn_equally_often_and_every_sample_of_a_class_too() -> None:
    train = batches(balance="sampling")
    samples = train.order(0) % 41
    assert len(samples) == 41
    counts = LABELS[samples].bincount(minlength=4).tolist()
    assert counts[2] == 0
    assert sorted(counts) == [0, 13, 14, 14]
    seen = samples.bincount(minlength=41)
    assert seen[30:39].max() - seen[30:39].min() <= 1
    assert (seen[39:41] >= 6).all()
    assert not torch.equal(train.order(0) % 41, train.order(1) % 41)
    assert torch.equal(train.order(0), batches(balance="sampling").order(0))


def test_copies_of_an_image_stand_together_and_are_augmented_differently() -> None:
    train = batches(repeat=3)
    order = train.order(0)
    samples = order % 41
    assert len(order) == 41
    assert samples[:39].view(13, 3).eq(samples[:39].view(13, 3)[:, :1]).all()
    assert len(samples.unique()) == 14
    batch = train.batch(order[:3], 0)
    assert not torch.equal(batch.x[0], batch.x[1])
    assert batch.y is not None
    assert (batch.y == LABELS[samples[0]]).all()


def test_without_either_the_order_is_the_permutation_of_all_samples() -> None:
    assert torch.equal(batches().order(5).sort().values, torch.arange(41))


def test_class_weights_make_every_class_count_alike_and_parts_add_up() -> None:
    weights = sampling.class_weights(LABELS, 4).double()
    torch.testing.assert_close(weights[LABELS].mean(), torch.tensor(1.0, dtype=torch.float64))
    sums = torch.zeros(4, dtype=torch.float64).index_add_(0, LABELS, weights[LABELS])
    torch.testing.assert_close(sums[[0, 1, 3]], torch.full((3,), 41 / 3, dtype=torch.float64))
    scores = torch.randn(41, 4, dtype=torch.float64)

    def loss(rows: slice) -> torch.Tensor:
        batch = Batch(scores[rows], LABELS[rows])
        return classify(torch.nn.Identity(), batch, torch.Generator(), class_weights=weights).value

    wanted = -(weights[LABELS] * scores.log_softmax(1)[torch.arange(41), LABELS]).mean()
    torch.testing.assert_close(loss(slice(None)), wanted)
    torch.testing.assert_close((10 * loss(slice(10)) + 31 * loss(slice(10, None))) / 41, wanted)
