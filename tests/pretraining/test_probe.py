"""Probes against scikit-learn and against plain gradient descent, with refusals and draws."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from torch.nn.functional import cross_entropy

from vitruvius.core.errors import UserError
from vitruvius.pretraining import probe as probing
from vitruvius.pretraining.probe import Labelled
from vitruvius.training.batches import Batches


def clouds(
    samples: int = 90, features: int = 6, classes: int = 3, spread: float = 1.0, seed: int = 0
) -> Labelled:
    """Gaussian clouds around one centre per class, of very different scales and far from the origin."""
    source = torch.Generator().manual_seed(seed)
    y = torch.arange(samples) % classes
    centres = torch.randn(classes, features, generator=torch.Generator().manual_seed(99))
    x = centres[y] + spread * torch.randn(samples, features, generator=source)
    return Labelled((x * torch.logspace(-1, 1, features) + 5).double(), y)


def gradient_norm(fitted: probing.Linear, train: Labelled, l2: float) -> float:
    weight, bias = fitted.weight_kK.clone().requires_grad_(), fitted.bias_K.clone().requires_grad_()
    loss = cross_entropy(train.x @ weight + bias, train.y) + l2 / 2 * weight.square().sum()
    grads = torch.autograd.grad(loss, (weight, bias))
    return float(torch.cat([grad.flatten() for grad in grads]).norm())


@pytest.mark.parametrize("l2", [1e-4, 1e-3, 0.1])
@pytest.mark.parametrize("classes", [2, 3])
def test_lbfgs_ends_where_the_gradient_of_the_stated_objective_is_1e_6(l2: float, classes: int) -> None:
    train = clouds(classes=classes)
    fitted = probing.lbfgs(train, classes, l2)
    assert fitted.gradient is not None
    assert fitted.gradient <= 1e-6
    assert gradient_norm(fitted, train, l2) == pytest.approx(fitted.gradient, rel=1e-3, abs=1e-9)


@pytest.mark.parametrize("l2", [1e-3, 0.1])
def test_lbfgs_agrees_with_scikit_learn(l2: float) -> None:
    train = clouds(spread=0.5)
    fitted = probing.lbfgs(train, 3, l2)
    theirs = LogisticRegression(C=1 / (l2 * len(train.y)), tol=1e-10, max_iter=100_000).fit(train.x, train.y)
    np.testing.assert_allclose(fitted.weight_kK.T, theirs.coef_, atol=2e-4)
    ours, other = fitted.bias_K - fitted.bias_K.mean(), theirs.intercept_ - theirs.intercept_.mean()
    np.testing.assert_allclose(ours, other, atol=2e-3)
    test = clouds(600, spread=0.5, seed=1)
    assert probing.probe("lbfgs", train, test, 3, l2).accuracy == theirs.score(test.x, test.y)


def test_directions_without_variance_change_nothing() -> None:
    train, test = clouds(), clouds(seed=1)
    wide = [
        Labelled(torch.cat([part.x, part.x[:, :2], torch.ones(len(part.x), 3)], 1), part.y)
        for part in (train, test)
    ]
    doubled = probing.lbfgs(wide[0], 3)
    assert doubled.gradient is not None
    assert doubled.gradient <= 1e-6
    assert gradient_norm(doubled, wide[0], 1e-3) <= 2e-6
    assert doubled.weight_kK[-3:].abs().max() < 1e-6


def test_more_features_than_samples_have_an_optimum_too() -> None:
    train = clouds(20, features=60)
    assert (probing.lbfgs(train, 3).gradient or 1) <= 1e-6
    assert probing.probe("lbfgs", train, train, 3).accuracy == 1.0


@pytest.mark.parametrize(("samples", "steps"), [(200, 1000), (201, 50 * 2), (600, 50 * 3)])
def test_adam_takes_the_steps_of_the_assignment(
    samples: int, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    monkeypatch.setattr(torch.optim.Adam, "step", lambda self: taken.append(self.param_groups[0]["lr"]))
    probing.adam(clouds(samples), 3)
    assert taken == [1e-3] * steps


def test_adam_repeats_itself_for_the_same_seed_alone() -> None:
    train = clouds(600, spread=0.3)
    first, second = (probing.adam(train, 3, seed=4) for _ in range(2))
    assert torch.equal(first.weight_kK, second.weight_kK)
    assert not torch.equal(first.weight_kK, probing.adam(train, 3, seed=5).weight_kK)


def test_adam_and_lbfgs_agree_where_adam_has_converged() -> None:
    train, test = clouds(200, spread=0.7), clouds(2000, spread=0.7, seed=1)
    asked, counted = (Labelled((part.x - 5) / torch.logspace(-1, 1, 6), part.y) for part in (train, test))
    fast, slow = (probing.probe(method, asked, counted, 3).accuracy for method in ("lbfgs", "adam"))
    assert fast == pytest.approx(slow, abs=0.02)


def test_neighbours_vote_by_cosine() -> None:
    """Directions decide, lengths do not."""
    train = Labelled(
        torch.tensor([[1.0, 0.0], [10.0, 1.0], [0.0, 1.0], [0.5, 5.0]]), torch.tensor([0, 0, 1, 1])
    )
    asked = torch.tensor([[100.0, 20.0], [0.01, 0.03]])
    assert probing.nearest(train, asked, 2).tolist() == [0, 1]


def test_one_very_similar_neighbour_outvotes_two_less_similar_ones() -> None:
    """exp(1 / 0.07) = 1.6e6 against 2 exp(0.9 / 0.07) = 0.8e6, however short the sample is."""
    aside = (1 - 0.9**2) ** 0.5
    train = Labelled(torch.tensor([[1.0, 0.0], [0.9, aside], [0.9, -aside]]), torch.tensor([0, 1, 1]))
    assert probing.nearest(train, torch.tensor([[1.0, 0.0], [0.01, 0.0]]), 2).tolist() == [0, 0]


def test_probing_leaves_the_global_generator_alone() -> None:
    train = clouds()
    before = torch.get_rng_state()
    for method in probing.METHODS:
        probing.probe(method, train, train, 3)
    assert torch.equal(torch.get_rng_state(), before)


def test_drawn_labels_hold_the_classes_in_proportion_and_depend_on_seed_and_number() -> None:
    y = torch.cat([torch.zeros(900), torch.ones(100)]).long()
    kept = probing.draw(y, 50, seed=0)
    assert y[kept].bincount().tolist() == [45, 5]
    assert len(set(kept.tolist())) == 50
    assert torch.equal(kept, probing.draw(y, 50, seed=0))
    assert not torch.equal(kept, probing.draw(y, 50, seed=0, number=1))
    assert not torch.equal(kept, probing.draw(y, 50, seed=1))
    assert probing.draw(y, "all", seed=0).tolist() == list(range(1000))
    with pytest.raises(UserError, match="--labels 1,001: there are 1,000 labelled samples"):
        probing.draw(y, 1001, seed=0)


def test_a_draw_of_one_class_is_refused_with_the_counts() -> None:
    with pytest.raises(UserError, match=r"--labels 3: all of one class, the classes have 190, 10 samples"):
        probing.draw(torch.tensor([0] * 190 + [1] * 10), 3, seed=0)


def test_features_are_those_of_all_samples_in_order() -> None:
    x = torch.arange(1203 * 2.0).view(-1, 2)
    found = probing.features(lambda part: 2 * part, Batches(x, None))
    assert torch.equal(found, 2 * x)
