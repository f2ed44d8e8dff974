"""jacob_cov looks at the correlations between the images' gradients in their pixels."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import jacfwd

from vitruvius import proxies


def test_it_is_the_sum_over_eigenvalues_of_the_correlations(model: nn.Module, x: Tensor, y: Tensor) -> None:
    jacobian = np.stack(
        [jacfwd(lambda pixels: model(pixels[None]).sum())(image).flatten().detach() for image in x]
    )
    values = np.linalg.eigvalsh(np.corrcoef(jacobian))
    expected = -sum(np.log(value + 1e-5) + 1 / (value + 1e-5) for value in values)
    assert proxies.get("jacob_cov")(proxies.one_pass(model, x, y)) == pytest.approx(expected, rel=1e-8)


def test_only_the_first_sixteen_images_count(model: nn.Module) -> None:
    x = torch.randn(20, 2, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = torch.zeros(20, dtype=torch.long)
    jacob_cov = proxies.get("jacob_cov")
    assert jacob_cov(proxies.one_pass(model, x, y)) == jacob_cov(proxies.one_pass(model, x[:16], y[:16]))
