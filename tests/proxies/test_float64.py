"""Every proxy equals a second implementation in float64: another ViT, written out, and the formula by numpy.

Shapes: B batch, N tokens, D width, T tokens of all images.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from vitruvius import proxies
from vitruvius.core import plugins
from vitruvius.nn.vit import ViT

SEED, HEADS, DIM = 3, 2, 3
Values = dict[str, Tensor]


class Second:
    """A forward pass of the fixture's ViT by slices and sums, which keeps all that happens on the way."""

    def __init__(self, values: Values, x: Tensor) -> None:
        self.values = values
        self.linear: list[tuple[str, Tensor]] = []
        self.attention: list[Tensor] = []
        self.before_gelu: list[Tensor] = []
        self.residual: list[Tensor] = []
        corners = [(row, column) for row in (0, 4) for column in (0, 4)]
        pieces = [x[:, :, r : r + 4, c : c + 4].reshape(len(x), -1) for r, c in corners]
        tokens = self.map("patch_map", torch.stack(pieces, 1))
        first = values["class_token"].repeat(len(x), 1, 1)
        tokens = torch.cat([first, tokens], 1) + values["positions"]
        for layer in ("layers.0", "layers.1"):
            tokens = tokens + self.attend(layer, self.norm(f"{layer}.norm1", tokens))
            self.residual.append(tokens)
            hidden = self.map(f"{layer}.mlp.0", self.norm(f"{layer}.norm2", tokens))
            self.before_gelu.append(hidden)
            tokens = tokens + self.map(f"{layer}.mlp.3", hidden * (1 + torch.erf(hidden / 2**0.5)) / 2)
            self.residual.append(tokens)
        self.scores = self.map("head", self.norm("norm", tokens)[:, 0])

    def map(self, name: str, x: Tensor) -> Tensor:
        bias = self.values.get(f"{name}.bias", torch.zeros(()))
        output = torch.einsum("...i,oi->...o", x, self.values[f"{name}.weight"]) + bias
        self.linear.append((f"{name}.weight", output))
        return output

    def norm(self, name: str, x: Tensor) -> Tensor:
        centred = x - x.mean(-1, keepdim=True)
        scaled = centred / (centred.square().mean(-1, keepdim=True) + 1e-6).sqrt()
        return scaled * self.values[f"{name}.weight"] + self.values[f"{name}.bias"]

    def attend(self, layer: str, x: Tensor) -> Tensor:
        qkv = self.map(f"{layer}.attention.qkv", x)
        outputs, weights = [], []
        for head in range(HEADS):
            q, k, v = (qkv[..., 6 * part + DIM * head : 6 * part + DIM * (head + 1)] for part in range(3))
            raised = torch.exp(torch.einsum("bnd,bmd->bnm", q, k) / DIM**0.5)
            weights.append(raised / raised.sum(-1, keepdim=True))
            outputs.append(torch.einsum("bnm,bmd->bnd", weights[-1], v))
        self.attention.append(torch.stack(weights, 1))
        return self.map(f"{layer}.attention.out", torch.cat(outputs, -1))


class Case:
    """The fixture's network and minibatch, with what several references need."""

    def __init__(self, model: ViT, x: Tensor, y: Tensor) -> None:
        self.x, self.y = x, y
        self.values = {name: value.detach().clone() for name, value in model.named_parameters()}
        self.matrices = [name for name, value in self.values.items() if value.dim() == 2]
        self.leaves = {name: value.clone().requires_grad_() for name, value in self.values.items()}
        self.second = Second(self.leaves, x)
        self.gradient = self.slopes(self.leaves, x, y)

    def slopes(self, leaves: Values, x: Tensor, y: Tensor) -> Values:
        found = torch.autograd.grad(_loss(Second(leaves, x).scores, y), list(leaves.values()))
        return dict(zip(leaves, found, strict=True))

    def flow(self) -> tuple[Values, Values]:
        absolute = {name: value.abs().requires_grad_() for name, value in self.values.items()}
        total = Second(absolute, torch.ones(1, 2, 8, 8, dtype=torch.float64)).scores.sum()
        found = torch.autograd.grad(total, [absolute[name] for name in self.matrices])
        weights = {name: absolute[name].detach() for name in self.matrices}
        return weights, dict(zip(self.matrices, found, strict=True))


def _loss(scores: Tensor, y: Tensor) -> Tensor:
    chosen = torch.stack([row[label] for row, label in zip(scores, y.tolist(), strict=True)])
    return (scores.exp().sum(1).log() - chosen).mean()


def grad_norm(case: Case) -> float:
    return math.sqrt(sum(g**2 for slope in case.gradient.values() for g in slope.flatten().tolist()))


def grad_norm_layers(case: Case) -> float:
    return sum(float(np.linalg.norm(case.gradient[name].numpy())) for name in case.matrices)


def snip(case: Case) -> float:
    return sum(float(np.abs((case.values[name] * case.gradient[name]).numpy()).sum()) for name in case.values)


def grasp(case: Case) -> float:
    """The Hessian times the gradient by central differences of the gradient."""
    ends = []
    for sign in (1, -1):
        moved = {name: value + sign * 1e-5 * case.gradient[name] for name, value in case.values.items()}
        ends.append(case.slopes({n: v.requires_grad_() for n, v in moved.items()}, case.x, case.y))
    return -sum(float((case.values[n] * (ends[0][n] - ends[1][n])).sum()) / 2e-5 for n in case.values)


def synflow(case: Case) -> float:
    weights, slopes = case.flow()
    return sum(float(np.abs((weights[name] * slopes[name]).numpy()).sum()) for name in weights)


def logsynflow_abs(case: Case) -> float:
    weights, slopes = case.flow()
    return sum(float((weights[name] * (1 + slopes[name].abs()).log()).sum()) for name in weights)


def dss(case: Case) -> float:
    weights, slopes = case.flow()
    score = 0.0
    for name, weight in weights.items():
        if "attention" in name:
            score += float(np.linalg.norm(weight, "nuc") * np.linalg.norm(slopes[name], "nuc"))
        else:  # MLPs, patch map and head
            score += float((weight * slopes[name]).abs().sum())
    return score


def fisher(case: Case) -> float:
    loss = _loss(case.second.scores, case.y)
    score = 0.0
    for name, output in case.second.linear:
        (slope,) = torch.autograd.grad(loss, output, retain_graph=True)
        effect = (output.detach() * slope).reshape(len(case.x), -1, output.shape[-1]).numpy().sum(1)
        score += case.values[name].shape[1] / 2 * float((effect**2).mean(0).sum())
    return score


def zico(case: Case) -> float:
    first = case.slopes(case.leaves, case.x[:3], case.y[:3])
    second = case.slopes(case.leaves, case.x[3:], case.y[3:])
    score = 0.0
    for name in case.matrices:
        both = np.stack([first[name].numpy(), second[name].numpy()])
        deviation = both.std(0)
        score += math.log((np.abs(both).mean(0)[deviation > 0] / deviation[deviation > 0]).sum())
    return score


def jacob_cov(case: Case) -> float:
    x = case.x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(Second(case.values, x).scores.sum(), x)
    values = np.linalg.eigvals(np.corrcoef(slope.flatten(1).numpy())).real + 1e-5
    return float(-(np.log(values) + 1 / values).sum())


def naswot(case: Case) -> float:
    agree = np.zeros((5, 5))
    for hidden in case.second.before_gelu:
        on = (hidden.detach().reshape(5, -1) > 0).numpy()
        agree += [[(on[a] == on[b]).sum() for b in range(5)] for a in range(5)]
    return float(np.log(np.linalg.det(agree)))


def zen(case: Case) -> float:
    random = torch.Generator().manual_seed(SEED)
    draws = []
    for _ in range(32):
        drawn = {}
        for name, value in case.values.items():
            if value.dim() == 2:
                drawn[name] = torch.randn(value.shape, generator=random, dtype=torch.float64)
            elif name.endswith("bias"):
                drawn[name] = torch.zeros_like(value)
            else:
                drawn[name] = torch.ones_like(value) if "norm" in name else value
        x, step = (torch.randn(16, 2, 8, 8, generator=random, dtype=torch.float64) for _ in range(2))
        one, other = (Second(drawn, image).residual[-1] for image in (x, x + 0.01 * step))
        draws.append(math.log(float((one - other).abs().sum()) / 16))
    return float(np.mean(draws))


def ntk(case: Case) -> float:
    rows = []
    for image in case.x:
        slopes = torch.autograd.grad(
            Second(case.leaves, image[None]).scores.sum(), list(case.leaves.values())
        )
        rows.append(torch.cat([slope.flatten() for slope in slopes]).numpy())
    values = np.linalg.svd(np.array(rows), compute_uv=False) ** 2
    return float(-values[0] / values[-1])


def _entropies(case: Case) -> list[float]:
    found = []
    for output in case.second.residual:
        shares = np.linalg.eigvalsh(np.cov(output.detach().reshape(25, 6).numpy().T))
        shares = shares[shares > 0] / shares[shares > 0].sum()
        found.append(float(-(shares * np.log(shares)).sum()))
    return found


def az_expressivity(case: Case) -> float:
    return sum(_entropies(case))


def az_progressivity(case: Case) -> float:
    return float(np.diff(_entropies(case)).min())


def az_trainability(case: Case) -> float:
    random = torch.Generator().manual_seed(SEED)
    scores = []
    for before, after in zip(case.second.residual, case.second.residual[1:], strict=False):
        signs = (torch.randint(2, after.shape, generator=random) * 2 - 1).double()
        (back,) = torch.autograd.grad(after, before, signs, retain_graph=True)
        s = np.linalg.norm(np.einsum("ti,tj->ij", back.reshape(25, 6), signs.reshape(25, 6)) / 25, 2)
        scores.append(2 - s - 1 / s)
    return float(np.mean(scores))


def key_confidence(case: Case) -> float:
    return sum(float(weights.detach().numpy().max(3).mean()) for weights in case.second.attention)


def head_confidence(case: Case) -> float:
    return sum(float(weights.detach().numpy().max(1).mean()) for weights in case.second.attention)


def params(case: Case) -> float:
    embedding, layer, mlps = 32 * 6 + 6 + 6 + 5 * 6, 12 + 18 * 6 + 18 + 36 + 6 + 12, 13 * (7 + 9) + 12
    return embedding + 2 * layer + mlps + 12 + 18 + 3


def macs(case: Case) -> float:
    return 4 * 32 * 6 + 2 * (5 * 4 * 36 + 2 * 25 * 6) + 5 * 2 * 6 * (7 + 9) + 6 * 3


def depth(case: Case) -> float:
    return 2


def width_sum(case: Case) -> float:
    return 12


def reference(name: str) -> Callable[[Case], float]:
    return globals()[name]


@pytest.mark.parametrize("name", plugins.members("proxies"))
def test_every_proxy_equals_its_second_implementation(name: str, model: ViT, x: Tensor, y: Tensor) -> None:
    found = proxies.get(name)(proxies.one_pass(model, x, y, seed=SEED))
    rel = 1e-6 if name == "grasp" else 1e-9
    assert found == pytest.approx(reference(name)(Case(model, x, y)), rel=rel)


@pytest.mark.parametrize("name", plugins.members("proxies"))
def test_in_float32_every_proxy_is_nearly_the_same(name: str, model: ViT, x: Tensor, y: Tensor) -> None:
    if name == "zen":
        return  # it draws other numbers in another precision
    found = proxies.get(name)(proxies.one_pass(model.float(), x.float(), y, seed=SEED))
    assert found == pytest.approx(reference(name)(Case(model.double(), x.float().double(), y)), rel=2e-3)


def test_the_second_network_is_the_same_function(model: ViT, x: Tensor) -> None:
    values: Any = dict(model.named_parameters())
    assert torch.allclose(Second(values, x).scores, model(x), rtol=1e-12)
