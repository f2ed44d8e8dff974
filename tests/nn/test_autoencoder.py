"""Fully connected autoencoders: names and shapes, and a stack of them against each by itself."""

import pytest
import torch
from torch import nn

from vitruvius.core.errors import UserError
from vitruvius.nn.autoencoder import Autoencoder, Stack, build, refuse_if_too_big


def test_layers_narrow_to_the_latent_and_widen_again_without_activation_there() -> None:
    model = Autoencoder(7, (5, 4))
    assert [type(layer) for layer in model.encoder] == [nn.Linear, nn.ReLU, nn.Linear]
    assert [type(layer) for layer in model.decoder] == [nn.Linear, nn.ReLU, nn.Linear]
    shapes = {
        name: tuple(value.shape) for name, value in model.state_dict().items() if name.endswith("weight")
    }
    assert shapes == {
        "encoder.0.weight": (5, 7),
        "encoder.2.weight": (4, 5),
        "decoder.0.weight": (5, 4),
        "decoder.2.weight": (7, 5),
    }


def test_images_come_back_as_images() -> None:
    x = torch.rand(3, 1, 4, 4)
    model = Autoencoder(16, (5,), "identity")
    assert model(x).shape == x.shape
    assert model.encode(x).shape == (3, 5)


def test_a_linear_autoencoder_is_linear() -> None:
    model = Autoencoder(6, (4, 2), "identity")
    x, zero = torch.randn(2, 1, 6), torch.zeros(1, 6)
    both = model(x[0] + x[1]) - model(zero)
    torch.testing.assert_close(
        both, model(x[0]) - model(zero) + model(x[1]) - model(zero), rtol=1e-4, atol=1e-5
    )


def test_the_same_seed_gives_the_same_weights_and_leaves_the_global_generator_alone() -> None:
    before = torch.get_rng_state()
    first, second = (build(6, (3,), "relu", seed=4) for _ in range(2))
    assert torch.equal(torch.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True))


@pytest.mark.parametrize("activation", ["identity", "relu", "gelu"])
def test_a_stack_is_its_models_side_by_side(activation: str) -> None:
    models = [build(6, (5, 3), activation, seed).double() for seed in range(4)]
    stack = Stack.of(models)
    x_MBD = torch.randn(4, 9, 6, dtype=torch.float64)
    answer = stack(x_MBD)
    weight = torch.rand(4, dtype=torch.float64)
    (weight @ answer.square().sum((1, 2))).backward()
    for place, model in enumerate(models):
        alone = model(x_MBD[place])
        torch.testing.assert_close(answer[place], alone)
        torch.testing.assert_close(stack.encode(x_MBD)[place], model.encode(x_MBD[place]))
        (weight[place] * alone.square().sum()).backward()
        for (name, ours), theirs in zip(stack.named_parameters(), model.parameters(), strict=True):
            assert ours.grad is not None
            torch.testing.assert_close(ours.grad[place], theirs.grad, msg=name)


def test_a_model_taken_out_of_a_stack_is_the_one_put_in() -> None:
    models = [build(6, (3,), "relu", seed) for seed in range(3)]
    taken = Stack.of(models).one(1)
    x = torch.randn(4, 6)
    assert torch.equal(taken(x), models[1](x))


def test_autoencoders_that_do_not_fit_are_refused_unbuilt() -> None:
    with pytest.raises(UserError, match="2 autoencoders of .* parameters do not fit"):
        refuse_if_too_big([(1_000_000, 1_000_000)] * 2, batch=1)
    refuse_if_too_big([(784, 256, 64)], batch=100)
