r"""Weight decay on a linear autoencoder: closed form, nearly orthonormal columns, and the exact PyTorch recipe.

$\mathcal{L} = \frac1n \lVert X - W_2 W_1 X \rVert_F^2 + \lambda (\lVert W_1 \rVert_F^2 + \lVert W_2 \rVert_F^2)$
has a closed-form minimum (Kunin et al. 2019). Shapes: m features, n samples (the columns of X), k latent.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from typing import TYPE_CHECKING, Any

from pydantic import Field, model_validator

from vitruvius import lessons
from vitruvius.lessons import Answer, Exact, Proof, Step, Vector, exact
from vitruvius.lessons._board import number, row
from vitruvius.lessons._exact import root, surd
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._tensors import tensor

if TYPE_CHECKING:
    from torch import Tensor, nn

SUBJECT = "autoencoders"
EPOCHS = 120


class Question(lessons.Question):
    """The eigenvalues of XX'/n, a latent size, and the weight of the penalty."""

    eigenvalues: Vector = exact((9, 4, 1))
    latent: int = Field(2, ge=1)
    weight: Exact = Fraction(1, 4)
    """Lambda."""

    @model_validator(mode="after")
    def _fits(self) -> "Question":
        features = len(self.eigenvalues)
        if not self.latent <= features <= 16:
            raise ValueError(f"eigenvalues has {features} entries, it needs {self.latent} (latent) to 16")
        if min(self.eigenvalues) < 0 or max(self.eigenvalues) == 0:
            raise ValueError(f"eigenvalues has {min(self.eigenvalues)}: variances are not negative, and not all 0")
        if self.weight <= 0:
            raise ValueError(f"weight is {self.weight}, it must be positive: at 0 the weights are not determined")
        sizes = sorted((self.weight, *filter(None, self.eigenvalues)))
        if sizes[-1] > 10**6 * sizes[0]:
            raise ValueError(f"eigenvalues and weight reach from {sizes[0]} to {sizes[-1]}: at most a million times")
        return self


def solve(question: Question) -> Iterator[Step | Answer]:
    """Decouple the directions, balance the two factors, minimise each direction, then train what was derived."""
    values, k, weight = sorted(question.eigenvalues, reverse=True), question.latent, question.weight
    yield Step(
        says="In the basis of the eigenvectors every direction pays for itself. If decoder and encoder stretch it by d "
        "and e, only p = de matters for the error, and the penalty is least when they share: d = e. At "
        f"p = 1 a sharing of 2 and 1/2 costs {2**2 + 0.5**2} lambda, equal shares cost 2 lambda.",
        formula=r"\sigma^2 (1 - de)^2 + \lambda (d^2 + e^2) \ge \sigma^2 (1 - p)^2 + 2 \lambda p",
    )
    shares = [max(Fraction(0), 1 - weight / value) if value else Fraction(0) for value in values[:k]]
    terms = (rf"1 - {number(weight / value)} = {number(1 - weight / value)}" for value in values[:k] if value)
    yield Step(
        says="The parabola in p has its minimum at p = 1 - lambda / sigma^2; a direction whose variance is not above "
        f"lambda = {float(weight):.4g} is given up (p = 0). Here {sum(share > 0 for share in shares)} of {k} are used.",
        formula=r"p_i = \max(0, 1 - \lambda / \sigma_i^2): \quad " + r", \quad ".join(terms),
        value=shares,
    )
    roots = [root(share) for share in shares]
    yield Step(
        says="Both matrices have the singular values sqrt(p): W2 = U diag(s) Q' and W1 = W2'. The rotation Q is free, "
        f"so even now the {k} columns of W2 need not be principal directions.",
        formula=rf"s = {row([surd(share) for share in shares])} = {row([float(size) for size in roots])}",
        value=roots,
    )
    costs = [2 * weight - weight**2 / value if share else value for value, share in zip(values, shares, strict=False)]
    minimum = sum(costs + values[k:], Fraction(0))
    yield Step(
        says="A used direction costs 2 lambda - lambda^2 / sigma^2, any other its whole variance: together "
        f"{float(minimum):.6g} of a total variance of {float(sum(values)):.6g}.",
        formula=rf"\min \mathcal{{L}} = {' + '.join(map(number, costs + values[k:]))} = {number(minimum)}",
        value=minimum,
    )
    yield _orthonormality(values[:k], shares)
    yield _recipe(question)
    yield _followed(question, float(minimum))
    deviation = max(1 - share for share in shares)
    yield Answer(fields={"singular_values": roots, "minimum": minimum, "orthonormality": deviation})


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Autograd at the claimed weights, training from a random start, and one step of the recipe."""
    import torch

    sizes = tensor(answer["singular_values"])
    w1_km = torch.eye(question.latent, len(question.eigenvalues), dtype=torch.float64) * sizes[:, None]
    w1_km, w2_mk = w1_km.clone().requires_grad_(), w1_km.T.clone().requires_grad_()
    value = _objective(question, w1_km, w2_mk)
    slope = max(grad.abs().max().item() for grad in torch.autograd.grad(value, (w1_km, w2_mk)))
    flat = slope <= 1e-9 * float(max(question.eigenvalues))
    yield holds("singular values", "autograd at these weights", flat, f"largest entry of the gradient {slope:.1e}")
    lowest, trained = _trained(question)
    yield agree("minimum", "the objective at these singular values", answer["minimum"], value.item())
    yield agree("minimum", "random weights trained by L-BFGS", answer["minimum"], lowest, 1e-8)
    gap = max(abs(float(a) - b) for a, b in zip(answer["singular_values"], trained, strict=True))
    yield holds("singular values", "SVD of the trained decoder", gap <= 1e-3, f"largest difference {gap:.1e}")
    gram_kk = (w2_mk.T @ w2_mk).detach() - torch.eye(question.latent, dtype=torch.float64)
    spectral = torch.linalg.matrix_norm(gram_kk, ord=2).item()
    yield agree("orthonormality", "spectral norm of W2'W2 - I", answer["orthonormality"], spectral)
    miss = _recipe_miss(question)
    detail = f"mean step against the gradient of the objective: relative difference {miss:.1e}"
    yield holds("recipe", "torch.optim.SGD, one step per sample", miss <= 1e-12, detail)


def _orthonormality(values: list[Fraction], shares: list[Fraction]) -> Step:
    weights = [10 ** (place / 20) for place in range(-80, 31)]
    known = [float(value) for value in values if value]
    sizes = {f"variance {value:.4g}": [sqrt(max(0.0, 1 - x / value)) for x in weights] for value in known}
    return Step(
        says="So a small lambda does favour orthonormal columns, but exactly only in the limit: W2'W2 has the "
        "eigenvalues p, up to lambda / sigma^2 away from 1. The argument by the minimum of s^2 + 1/s^2 takes W2 W1 "
        f"for a projection, which it is not at this lambda: its weakest direction keeps {float(min(shares)):.6g}.",
        formula=r"\lVert W_2^T W_2 - I \rVert_2 = \min(1, \lambda / \sigma_k^2) = " + number(1 - min(shares)),
        value=1 - min(shares),
        figure=curves("Orthonormal only in the limit", sizes, weights, ("lambda", "singular value"), log="x"),
    )


def _recipe(question: Question) -> Step:
    m, k, weight = len(question.eigenvalues), question.latent, question.weight
    return Step(
        says=f"The exact recipe: two linear layers without bias, squared error summed over the {m} features, SGD with "
        "weight decay 2 lambda. Naming only 'MSELoss and weight decay' is the common mistake: nn.MSELoss divides by "
        f"{m}, and SGD's decay w adds w/2 times the squared norm, so decay lambda would minimise the objective of "
        f"lambda m/2 = {float(weight * m / 2):.4g}. AdamW's decoupled decay has yet another minimum.",
        formula=rf"w \leftarrow w - \eta \left( \nabla \lVert x - \hat x \rVert^2 + {number(2 * weight)} \, w \right)",
        value={
            "layers": f"nn.Linear({m}, {k}, bias=False), then nn.Linear({k}, {m}, bias=False), no activation",
            "loss": "nn.MSELoss(reduction='sum') of one sample: the default mean would divide by the features",
            "weight_decay": 2 * weight,
            "optimiser": "torch.optim.SGD, one sample at a time in random order, learning rate falling to 0",
            "left out": "bias, dropout, layer norm, batch norm: each would change the objective",
        },
    )


def _data(question: Question) -> "Tensor":
    """Centred samples with these eigenvalues: a step along each axis, and back; (m, 2m)."""
    import torch

    values = tensor(sorted(question.eigenvalues, reverse=True))
    half = (len(values) * values).sqrt().diag()
    return torch.cat([half, -half], 1)


def _objective(question: Question, w1_km: "Tensor", w2_mk: "Tensor") -> "Tensor":
    data_mn = _data(question)
    error = (data_mn - w2_mk @ (w1_km @ data_mn)).square().sum() / data_mn.shape[1]
    return error + float(question.weight) * (w1_km.square().sum() + w2_mk.square().sum())


def _modules(question: Question) -> "nn.Sequential":
    import torch
    from torch import nn

    m, k = len(question.eigenvalues), question.latent
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(m, k, bias=False), nn.Linear(k, m, bias=False)).double()


def _followed(question: Question, minimum: float) -> Step:
    """The recipe followed to the letter, with the objective after every epoch."""
    import torch
    from torch import nn

    data_mn, model, criterion = _data(question), _modules(question), nn.MSELoss(reduction="sum")
    rate = 0.2 / float(data_mn.square().sum(0).max())
    optimiser = torch.optim.SGD(model.parameters(), lr=rate, weight_decay=2 * float(question.weight))
    decay = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 1 / EPOCHS, EPOCHS)
    order, reached = torch.Generator().manual_seed(2), []
    for _ in range(EPOCHS):
        for index in torch.randperm(data_mn.shape[1], generator=order).tolist():
            optimiser.zero_grad()
            criterion(model(data_mn[:, index]), data_mn[:, index]).backward()
            optimiser.step()
        decay.step()
        reached.append(_objective(question, *(weight.detach() for weight in model.parameters())).item())
    sizes = torch.linalg.svdvals(list(model.parameters())[1].detach()).tolist()
    shown, epochs = {"SGD": reached, "closed form": [minimum] * EPOCHS}, range(1, EPOCHS + 1)
    return Step(
        says=f"Followed for {EPOCHS} epochs on {data_mn.shape[1]} samples with these eigenvalues, the recipe ends at "
        f"{reached[-1]:.6g} against {minimum:.6g}, its decoder with these singular values.",
        formula=rf"s_{{\mathrm{{trained}}}} = {row(sizes)}",
        value={"objective": reached[-1], "singular_values": sizes},
        figure=curves("SGD against the closed form", shown, epochs, ("epoch", "objective"), log="y"),
    )


@lru_cache(maxsize=8)
def _trained(question: Question) -> tuple[float, list[float]]:
    """The objective at which random weights end, with the singular values of the decoder."""
    import torch

    weights = [weight.detach() for weight in _modules(question).parameters()]
    for _ in range(3):
        w1_km, w2_mk = _descended(question, weights)
        # descent takes thousands of steps to balance the two if lambda is small; an even share is never worse
        u_mm, sizes, v_mm = torch.linalg.svd(w2_mk @ w1_km, full_matrices=False)
        share = sizes[: question.latent].sqrt()
        weights = [share[:, None] * v_mm[: question.latent], u_mm[:, : question.latent] * share]
    return _objective(question, *weights).item(), share.tolist()


def _descended(question: Question, start: list["Tensor"]) -> list["Tensor"]:
    import torch

    weights = [weight.clone(memory_format=torch.contiguous_format).requires_grad_() for weight in start]
    optimiser: Any = torch.optim.LBFGS(
        weights, max_iter=300, tolerance_grad=1e-12, tolerance_change=1e-18, line_search_fn="strong_wolfe"
    )

    def closure() -> Any:
        optimiser.zero_grad()
        value: Any = _objective(question, *weights)
        value.backward()
        return value

    optimiser.step(closure)
    return [weight.detach() for weight in weights]


@lru_cache(maxsize=8)
def _recipe_miss(question: Question) -> float:
    """How far the mean of the recipe's single steps is from the gradient of the objective, relatively."""
    import torch
    from torch import nn

    steps: list[Any] = []
    for sample_m in _data(question).T:
        model = _modules(question)
        before = nn.utils.parameters_to_vector(model.parameters()).detach()
        nn.MSELoss(reduction="sum")(model(sample_m), sample_m).backward()
        torch.optim.SGD(model.parameters(), lr=1.0, weight_decay=2 * float(question.weight)).step()
        steps.append(before - nn.utils.parameters_to_vector(model.parameters()).detach())
    weights = list(_modules(question).parameters())
    grads = torch.autograd.grad(_objective(question, *weights), weights)
    wanted = torch.cat([grad.flatten() for grad in grads])
    return ((torch.stack(steps).mean(0) - wanted).norm() / wanted.norm()).item()
