r"""Weight decay on a linear autoencoder: closed form, nearly orthonormal columns, the exact PyTorch recipe.

$\mathcal{L} = \frac1n \lVert X - W_2 W_1 X \rVert_F^2 + \lambda (\lVert W_1 \rVert_F^2 + \lVert W_2
\rVert_F^2)$ has a closed-form minimum (Kunin et al. 2019). Shapes: m features, n samples (the columns of X),
k latent."""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from random import Random
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from vitruvius import lessons
from vitruvius.core.counted import counted
from vitruvius.lessons import Answer, Attempt, Board, Exact, Proof, Step, Vector, exact, latex
from vitruvius.lessons._draws import different
from vitruvius.lessons._exact import root, surd
from vitruvius.lessons._figures import curves
from vitruvius.lessons._proofs import agree, holds
from vitruvius.lessons._tensors import tensor
from vitruvius.nn.seeding import torch_seeded

SUBJECT = "autoencoders"
TASK = (
    "A linear autoencoder with latent size <latent> and the penalty <weight> (|W1|^2 + |W2|^2) on "
    "data whose second moment has the given eigenvalues. Work out the share p of each kept direction, "
    "the singular values of both matrices, the least loss, and how far W2^T W2 is from the identity."
)
EPOCHS = 120


class Question(lessons.Question):
    """The eigenvalues of XX'/n, a latent size, and the weight of the penalty."""

    limits = {"m": (1, 16)}
    eigenvalues: Annotated[Vector, "m"] = exact((9, 4, 1))
    latent: int = Field(2, ge=1)
    weight: Exact = Fraction(1, 4)
    """Lambda."""

    def refuse(self) -> None:
        values, weight = self.eigenvalues, self.weight
        if self.latent > len(values):
            has = counted(len(values), "entry")
            raise ValueError(f"eigenvalues has {has}, it needs {self.latent} (latent) to 16")
        if min(values) < 0 or max(values) == 0:
            raise ValueError(f"eigenvalues has {min(values)}: variances are not negative, and not all 0")
        if weight <= 0:
            raise ValueError(f"weight is {weight}, it must be positive: at 0 the weights are not determined")
        least, *_, most = sorted((weight, *filter(None, values)))
        if most > 10**6 * least:
            raise ValueError(f"eigenvalues and weight reach from {least} to {most}: at most a million times")


def solve(question: Question) -> Iterator[Step | Answer]:
    """Decouple the directions, balance the factors, minimise each direction, then train what was derived."""
    values, k, weight = sorted(question.eigenvalues, reverse=True), question.latent, question.weight
    shares = [max(Fraction(0), 1 - weight / value) if value else Fraction(0) for value in values[:k]]
    board = Board(k=k, m=len(values), weight=weight, shares=shares, used=sum(share > 0 for share in shares))
    yield board.step(
        "In the basis of the eigenvectors every direction pays for itself. If decoder and encoder stretch it "
        "by d and e, only p = de matters for the error, and the penalty is least when they share: d = e. At "
        "p = 1 a sharing of 2 and 1/2 costs 4.25 lambda, equal shares cost 2 lambda.",
        r"\sigma^2 (1 - de)^2 + \lambda (d^2 + e^2) \ge \sigma^2 (1 - p)^2 + 2 \lambda p",
    )
    ratios = [weight / value for value in values[:k] if value]
    board["terms"] = r", \quad ".join(f"1 - {latex(ratio)} = {latex(1 - ratio)}" for ratio in ratios)
    yield board.step(
        "The parabola in p has its minimum at p = 1 - lambda / sigma^2; a direction whose variance is not "
        "above lambda = <weight:.4g> is given up (p = 0). Here <used> of <k> are used.",
        r"p_i = \max(0, 1 - \lambda / \sigma_i^2): \quad <terms>",
        "shares",
    )
    roots = [root(share) for share in shares]
    board |= {"singular_values": roots, "surds": list(map(surd, shares)), "floats": list(map(float, roots))}
    yield board.step(
        "Both matrices have the singular values sqrt(p): W2 = U diag(s) Q' and W1 = W2'. The rotation Q is "
        "free, so even now the <k> columns of W2 need not be principal directions.",
        r"s = <surds> = <floats>",
        "singular_values",
    )
    used = zip(values, shares, strict=False)
    costs = [2 * weight - weight**2 / value if share else value for value, share in used] + values[k:]
    board |= {"costs": " + ".join(map(latex, costs)), "minimum": sum(costs), "variance": sum(values)}
    yield board.step(
        "A used direction costs 2 lambda - lambda^2 / sigma^2, any other its whole variance: together "
        "<minimum:.6g> of a total variance of <variance:.6g>.",
        r"\min \mathcal{L} = <costs> = <minimum>",
    )
    yield _orthonormality(board, [float(value) for value in values[:k] if value])
    yield from _recipe(question, board)
    yield Answer(fields=board.pick("singular_values minimum orthonormality"))


def prove(question: Question, answer: Answer) -> Iterator[Proof]:
    """Autograd at the claimed weights, training from a random start, and one step of the recipe."""
    sizes_k = tensor(answer["singular_values"])
    w1_km = torch.eye(question.latent, len(question.eigenvalues), dtype=torch.float64) * sizes_k[:, None]
    w1_km, w2_mk = w1_km.clone().requires_grad_(), w1_km.T.clone().requires_grad_()
    value = _objective(question, w1_km, w2_mk)
    slope = max(grad.abs().max().item() for grad in torch.autograd.grad(value, (w1_km, w2_mk)))
    flat, detail = slope <= 1e-9 * max(question.eigenvalues), f"largest entry of the gradient {slope:.1e}"
    yield holds("singular values", "autograd at these weights", flat, detail)
    lowest, trained_k = _trained(question)
    yield agree("minimum", "the objective at these singular values", answer["minimum"], value.item())
    yield agree("minimum", "random weights trained by L-BFGS", answer["minimum"], lowest, 1e-8)
    gap = (sizes_k - trained_k).abs().max().item()
    yield holds("singular values", "SVD of the trained decoder", gap <= 1e-3, f"largest difference {gap:.1e}")
    gram_kk = (w2_mk.T @ w2_mk).detach() - torch.eye(question.latent, dtype=torch.float64)
    spectral = torch.linalg.matrix_norm(gram_kk, ord=2).item()
    yield agree("orthonormality", "spectral norm of W2'W2 - I", answer["orthonormality"], spectral)
    miss = _recipe_miss(question)
    detail = f"mean step against the gradient of the objective: relative difference {miss:.1e}"
    yield holds("recipe", "torch.optim.SGD, one step per sample", miss <= 1e-12, detail)


def attempt(question: Question, write: Attempt) -> None:
    """Shares, singular values, the minimum, the distance from orthonormal."""
    values = np.sort(np.array(question.eigenvalues, float))[::-1]
    weight, k = float(question.weight), question.latent
    kept = np.maximum(values[:k], 1e-300)
    shares = write(
        "shares",
        np.maximum(0, 1 - weight / kept),
        "share p of each kept direction",
        "Where is the parabola in p least, and can p be negative?",
        r"p_i = \max(0, 1 - \lambda / \sigma_i^2)",
        ridge=("the factor of ridge regression is taken", kept / (kept + weight)),
        halved=("the penalty is halved", np.maximum(0, 1 - weight / 2 / kept)),
    )
    roots = write(
        "singular_values",
        shares**0.5,
        "singular values of both matrices",
        "How do the two matrices share p?",
        r"s_i = \sqrt{p_i}",
        no_root=("the root is forgotten", shares),
    )
    errors, given_up = values[:k] * (1 - roots**2) ** 2, values[k:].sum()
    costs = errors + 2 * weight * roots**2
    write(
        "minimum",
        float(costs.sum() + given_up),
        "least loss",
        "What does a kept direction cost, and what one that is given up?",
        r"\sum_{i \le k} \left( \sigma_i^2 (1 - p_i)^2 + 2 \lambda p_i \right) + \sum_{i > k} \sigma_i^2",
        no_penalty=("the penalty is left out", float(errors.sum() + given_up)),
        kept_only=("the directions beyond the bottleneck are forgotten", float(costs.sum())),
    )
    write(
        "orthonormality",
        float(1 - (roots**2).min()),
        "largest distance of an eigenvalue of W2^T W2 from 1",
        "What are the eigenvalues of W2^T W2?",
        r"1 - \min_i p_i",
        of_roots=("the singular values are taken for the eigenvalues", float(1 - roots.min())),
    )


def draw(random: Random) -> dict[str, Any]:
    """Three different eigenvalues and a penalty below them."""
    values = sorted(different(random, 2, 16, 3), reverse=True)
    return {"eigenvalues": values, "weight": f"{random.randint(1, 7)}/{random.choice((4, 5, 8))}"}


def _orthonormality(board: Board, variances: list[float]) -> Step:
    least, weights = min(board["shares"]), [10 ** (place / 20) for place in range(-80, 31)]
    sizes = {f"variance {value:.4g}": [sqrt(max(0.0, 1 - x / value)) for x in weights] for value in variances}
    board |= {"least": least, "orthonormality": 1 - least}
    return board.step(
        "So a small lambda does favour orthonormal columns, but exactly only in the limit: W2'W2 has the "
        "eigenvalues p, up to lambda / sigma^2 away from 1. The argument by the minimum of s^2 + 1/s^2 takes "
        "W2 W1 for a projection, which it is not at this lambda: its weakest direction keeps <least:.6g>.",
        r"\lVert W_2^T W_2 - I \rVert_2 = \min(1, \lambda / \sigma_k^2) = <orthonormality>",
        figure=curves("Orthonormal only in the limit", sizes, weights, ("lambda", "singular value"), log="x"),
    )


def _recipe(question: Question, board: Board) -> Iterator[Step]:
    """The recipe in words, then followed to the letter, with the objective after every epoch."""
    m, k, weight, minimum = (board[name] for name in ("m", "k", "weight", "minimum"))
    recipe = {
        "layers": f"nn.Linear({m}, {k}, bias=False), then nn.Linear({k}, {m}, bias=False), no activation",
        "loss": "nn.MSELoss(reduction='sum') of one sample: the default mean would divide by the features",
        "weight_decay": 2 * weight,
        "optimiser": "torch.optim.SGD, one sample at a time in random order, learning rate falling to 0",
        "left out": "bias, dropout, layer norm, batch norm: each would change the objective",
    }
    board |= {"decay": 2 * weight, "other": weight * m / 2}
    yield board.step(
        "The exact recipe: two linear layers without bias, squared error summed over the <m> features, SGD "
        "with weight decay 2 lambda. Naming only 'MSELoss and weight decay' is the common mistake: "
        "nn.MSELoss divides by <m>, and SGD's decay w adds w/2 times the squared norm, so decay lambda would "
        "minimise the objective of lambda m/2 = <other:.4g>. AdamW's decoupled decay has yet another "
        "minimum.",
        r"w \leftarrow w - \eta \left( \nabla \lVert x - \hat x \rVert^2 + <decay> \, w \right)",
        recipe,
    )
    objectives, sizes = _followed(question)
    reached = Board(n=2 * m, objective=objectives[-1], minimum=float(minimum), singular_values=sizes)
    shown, epochs = {"SGD": objectives, "closed form": [minimum] * EPOCHS}, range(1, EPOCHS + 1)
    yield reached.step(
        f"Followed for {EPOCHS} epochs on <n> samples with these eigenvalues, the recipe ends at "
        "<objective> against <minimum>, its decoder with these singular values.",
        r"s_{\mathrm{trained}} = <singular_values>",
        "objective singular_values",
        curves("SGD against the closed form", shown, epochs, ("epoch", "objective"), log="y"),
    )


def _followed(question: Question) -> tuple[list[float], Tensor]:
    """The objective after every epoch of the recipe, and the decoder's singular values at the end."""
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
    return reached, torch.linalg.svdvals(list(model.parameters())[1].detach())


def _data(question: Question) -> Tensor:
    """Centred samples with these eigenvalues: a step along each axis, and back; (m, 2m)."""
    values_m = tensor(sorted(question.eigenvalues, reverse=True))
    half_mm = (len(values_m) * values_m).sqrt().diag()
    return torch.cat([half_mm, -half_mm], 1)


def _objective(question: Question, w1_km: Tensor, w2_mk: Tensor) -> Tensor:
    data_mn = _data(question)
    error = (data_mn - w2_mk @ (w1_km @ data_mn)).square().sum() / data_mn.shape[1]
    return error + float(question.weight) * (w1_km.square().sum() + w2_mk.square().sum())


def _modules(question: Question) -> nn.Sequential:
    m, k = len(question.eigenvalues), question.latent
    with torch_seeded(0):
        return nn.Sequential(nn.Linear(m, k, bias=False), nn.Linear(k, m, bias=False)).double()


@lru_cache(maxsize=8)
def _trained(question: Question) -> tuple[float, Tensor]:
    """The objective at which random weights end, with the singular values of the decoder."""
    weights = [weight.detach() for weight in _modules(question).parameters()]
    stop: dict[str, Any] = {"max_iter": 300, "tolerance_grad": 1e-12, "tolerance_change": 1e-18}
    for _ in range(3):
        weights = [x.clone(memory_format=torch.contiguous_format).requires_grad_() for x in weights]
        optimiser: Any = torch.optim.LBFGS(weights, **stop, line_search_fn="strong_wolfe")

        def closure(optimiser: Any = optimiser, weights: list[Tensor] = weights) -> Any:
            optimiser.zero_grad()
            value: Any = _objective(question, *weights)
            value.backward()
            return value

        optimiser.step(closure)
        # descent takes thousands of steps to balance the two if lambda is small; an even share is never worse
        u_mm, sizes, v_mm = torch.linalg.svd((weights[1] @ weights[0]).detach(), full_matrices=False)
        share_k = sizes[: question.latent].sqrt()
        weights = [share_k[:, None] * v_mm[: question.latent], u_mm[:, : question.latent] * share_k]
    return _objective(question, *weights).item(), share_k


@lru_cache(maxsize=8)
def _recipe_miss(question: Question) -> float:
    """The relative difference of the mean of the recipe's single steps and the gradient of the objective."""
    steps = []
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
