"""synflow sums absolute weights times their slopes, on an image of ones."""

import pytest
from torch import Tensor, nn

from vitruvius import proxies


def test_it_is_the_sum_over_linear_weights(
    model: nn.Module, x: Tensor, y: Tensor, flow: tuple[dict[str, Tensor], dict[str, Tensor]]
) -> None:
    weights, slopes = flow
    expected = 0.0
    for name, weight in weights.items():
        for w, slope in zip(weight.flatten().tolist(), slopes[name].flatten().tolist(), strict=True):
            expected += abs(w * slope)
    assert len(weights) == 10  # the patches, four in each layer, the head
    assert proxies.get("synflow")(proxies.one_pass(model, x, y)) == pytest.approx(expected, rel=1e-10)


def test_images_and_labels_change_nothing(model: nn.Module, x: Tensor, y: Tensor) -> None:
    synflow = proxies.get("synflow")
    assert synflow(proxies.one_pass(model, x, y)) == synflow(
        proxies.one_pass(model, 2 * x, 1 - y.clamp_max(1))
    )
