"""The masked autoencoder: exact counts, tokens in their positions, no use of hidden patches."""

import pytest
import torch
from torch import nn

from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.nn import masked
from vitruvius.nn.masked import MaskedAutoencoder, Masking, hide
from vitruvius.nn.vit import patches
from vitruvius.objectives import Batch
from vitruvius.objectives.mask import mask

ARCH = Arch(image=8, channels=2, patch=2, width=8, depth=1, heads=2, mlp=8, classes=3, pooling="mean")


def source(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def small(normalise: bool = False, **fields: object) -> MaskedAutoencoder:
    arch = ARCH.with_fields(**fields)
    return masked.build(arch, masked.decoder_for(arch, 12, 1), normalise, seed=0).eval()


def images(count: int = 3) -> torch.Tensor:
    return torch.randn(count, 2, 8, 8, generator=source(9))


@pytest.mark.parametrize(
    ("count", "share", "hidden"), [(16, 0.75, 12), (49, 0.75, 37), (4, 0.5, 2), (5, 0.5, 2)]
)
def test_exactly_the_share_is_hidden_in_every_image(count: int, share: float, hidden: int) -> None:
    plan = hide(50, count, share, source())
    assert plan.visible_Bv.shape == (50, count - hidden)
    assert plan.hidden().sum(1).tolist() == [hidden] * 50


@pytest.mark.parametrize("share", [1.0, 0.99])
def test_at_least_one_patch_stays_visible(share: float) -> None:
    with pytest.raises(UserError, match="of 4 patches 0 to 3 can be hidden, not 4"):
        hide(2, 4, share, source())


def test_restoring_undoes_the_shuffling() -> None:
    plan = hide(20, 16, 0.75, source())
    whole = hide(20, 16, 0.0, source())
    assert torch.equal(whole.visible_Bv.gather(1, whole.restore_Bn), torch.arange(16).expand(20, -1))
    for row, restore in zip(plan.visible_Bv, plan.restore_Bn, strict=True):
        assert sorted(restore.tolist()) == list(range(16))
        assert [int(row[restore[place]]) for place in row] == row.tolist()


def test_every_patch_is_hidden_equally_often() -> None:
    share = hide(4000, 16, 0.75, source()).hidden().double().mean(0)
    assert (share - 0.75).abs().max() < 5 * (0.75 * 0.25 / 4000) ** 0.5


@pytest.mark.parametrize("class_token", [True, False])
def test_tokens_end_where_their_patches_were(class_token: bool) -> None:
    """With an identity map, each visible token is at its patch and hidden patches hold the mask token."""
    model = small(class_token=class_token)
    model.widen = nn.Identity()  # type: ignore[assignment]
    model.mask_token.data = torch.full((1, 1, 8), 7.0)
    plan = hide(3, 16, 0.75, source())
    tokens = model.encoder.embed(images())
    found = model._unshuffled(model._visible(images(), plan), plan)
    assert found.shape == tokens.shape
    hidden = torch.cat([torch.zeros(3, int(class_token), dtype=torch.bool), plan.hidden()], 1)
    assert torch.equal(found[~hidden], tokens[~hidden])
    assert (found[hidden] == 7).all()


def test_the_encoder_sees_a_quarter_of_the_patches_and_the_class_token() -> None:
    model, seen = small(), []
    model.encoder.layers[0].register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0].shape))
    model.predict(images(), hide(3, 16, 0.75, source()))
    assert seen == [(3, 5, 8)]


def test_what_is_hidden_changes_no_prediction() -> None:
    model, plan = small(), hide(3, 16, 0.75, source())
    x = images()
    other = model.covered(x, plan, torch.randn(3, 2, 8, 8, generator=source(1)))
    assert not torch.equal(other, x)
    assert torch.equal(model.predict(other, plan), model.predict(x, plan))
    visible = model.covered(x, Masking(plan.visible_Bv, 15 - plan.restore_Bn), x + 1)
    assert not torch.equal(model.predict(visible, plan), model.predict(x, plan))


def test_the_loss_is_the_mean_over_masked_patches_and_their_pixels() -> None:
    model, x = small(), images()
    found = mask(model, Batch(x, None), source(3), share=0.75, counted="masked").value
    plan = hide(3, 16, 0.75, source(3))
    predicted, truth, hidden = model.predict(x, plan), patches(x, 2), plan.hidden()
    errors = [
        (predicted[b, n, p] - truth[b, n, p]).item() ** 2
        for b in range(3)
        for n in range(16)
        for p in range(8)
        if hidden[b, n]
    ]
    assert len(errors) == 3 * 12 * 8
    assert found.item() == pytest.approx(sum(errors) / len(errors), rel=1e-5)


def test_gradients_reach_every_patch_and_the_class_token_but_not_the_unused_head() -> None:
    model, x = small(), images().requires_grad_()
    mask(model, Batch(x, None), source(3), share=0.75, counted="masked").value.backward()
    assert x.grad is not None
    per_patch = patches(x.grad, 2).abs().sum(-1)
    assert (per_patch > 0).all()  # visible ones through the encoder, hidden ones as targets
    assert model.encoder.class_token is not None
    assert model.encoder.class_token.grad is not None
    assert model.encoder.class_token.grad.abs().sum() > 0
    assert model.encoder.head.weight.grad is None


def test_normalised_targets_have_mean_0_and_deviation_1_and_pictures_undo_it() -> None:
    model, x = small(normalise=True), 3 + 2 * images()
    target = model.target(x)
    torch.testing.assert_close(target.mean(-1), torch.zeros(3, 16), atol=1e-5, rtol=0)
    torch.testing.assert_close(target.var(-1, correction=0), torch.ones(3, 16), atol=1e-4, rtol=0)
    model.predict = lambda image, plan: target  # type: ignore[method-assign,assignment]
    torch.testing.assert_close(model.picture(x, hide(3, 16, 0.75, source())), x, atol=1e-4, rtol=1e-4)


def test_a_blank_patch_has_a_finite_target() -> None:
    assert torch.isfinite(small(normalise=True).target(torch.zeros(1, 2, 8, 8))).all()


def test_without_a_plan_the_whole_image_is_drawn_and_encoded() -> None:
    model = small()
    assert model(images()).shape == (3, 2, 8, 8)
    torch.testing.assert_close(model.encode(images()), model.encoder.features(images()))


def test_training_learns_to_fill_what_is_hidden() -> None:
    """Images of one stripe each: a single visible patch of a row tells the others."""
    stripes = torch.zeros(64, 1, 8, 8)
    for index in range(64):
        stripes[index, 0, 2 * (index % 4) : 2 * (index % 4) + 2] = 1
    arch = ARCH.with_fields(channels=1, width=16, mlp=32)
    model = masked.build(arch, masked.decoder_for(arch, 16, 1), False, seed=0)
    optimiser = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(120):
        optimiser.zero_grad()
        mask(model, Batch(stripes, None), source(step), share=0.5, counted="masked").value.backward()
        optimiser.step()
    found = mask(model.eval(), Batch(stripes, None), source(999), share=0.5, counted="masked").value
    assert found.item() < 0.15 * stripes.var().item()  # a stripe of which nothing is seen cannot be known


def test_a_stem_would_see_hidden_patches_and_is_refused() -> None:
    with pytest.raises(UserError, match="stem 4: a masked autoencoder takes none"):
        small(stem=(4,))


def test_a_decoder_needs_a_width_of_four_heads() -> None:
    with pytest.raises(UserError, match="decoder width 30: choose a multiple of 4"):
        masked.decoder_for(ARCH, 30, 1)
