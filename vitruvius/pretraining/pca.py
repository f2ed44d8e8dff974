r"""Principal component analysis, and the distance of trained linear autoencoders from this optimum.

With free biases the least squared error of a linear autoencoder of latent size k is $\sum_{i>k}\lambda_i$ of
the covariance (Baldi and Hornik 1989). With the penalty $\lambda(\lVert W_1\rVert^2 + \lVert W_2\rVert^2)$
each direction is kept by $p_i = \max(0, 1 - \lambda/\lambda_i)$ and both matrices have the singular values
$\sqrt{p_i}$ (Kunin et al. 2019). Shapes: n samples, D features, k latent.
"""

from collections.abc import Iterable
from functools import reduce
from itertools import chain
from typing import NamedTuple

import numpy as np
import torch
from scipy.linalg import subspace_angles
from torch import Tensor, nn

from vitruvius.nn.autoencoder import Autoencoder
from vitruvius.pretraining.grid import Cell, Grid
from vitruvius.pretraining.probe import batches
from vitruvius.pretraining.results import Certificate, Penalised
from vitruvius.training.batches import Batches

LARGEST = 4096  # features, or samples of more features, up to which a covariance is decomposed
CONVERGED = 0.005  # relative distance to the optimum below which a training counts as converged


class Principal(NamedTuple):
    """The principal directions of a data set, largest variance first; those of no variance may be missing."""

    mean_D: Tensor
    values_R: Tensor
    vectors_DR: Tensor  # one column each

    def project(self, x: Tensor, count: int) -> Tensor:
        """Return the first components of samples of any shape, (n, count)."""
        return ((x.flatten(1).double().cpu() - self.mean_D) @ self.vectors_DR[:, :count]).to(x.dtype)

    def left_out(self, count: int) -> float:
        """Return the squared error of the first components: the variance that they leave out."""
        return float(self.values_R[count:].sum())

    def error(self, parts: Iterable[Tensor], count: int) -> float:
        """Return the squared error of the first components on other samples, given in parts."""
        if count >= len(self.mean_D):
            return 0.0
        samples, error = 0, 0.0
        for part in parts:
            kept_Bk = self.project(part.double(), count)
            centred_BD = part.flatten(1).double().cpu() - self.mean_D
            error += float(centred_BD.square().sum() - kept_Bk.square().sum())
            samples += len(part)
        return error / samples


def too_large(x: Tensor) -> str:
    """Say why the principal directions of samples are not computed; empty if they are."""
    samples, features = len(x), x[0].numel()
    if min(samples, features) <= LARGEST:
        return ""
    what = f"PCA of {samples:,} samples of {features:,} entries is left out"
    return f"{what}: one of the two must be at most {LARGEST:,}"


def fit(parts: Iterable[Tensor]) -> Principal:
    """Compute the principal directions of samples of any shape, given in parts, in float64."""
    parts = iter(parts)
    first = next(parts)
    every = chain([first], parts)
    if first[0].numel() > LARGEST:
        return _fit_few(torch.cat([part.flatten(1).double().cpu() for part in every]))
    count, total_D, squares_DD = 0, torch.zeros(()).double(), torch.zeros(()).double()
    for part in every:
        x_BD = part.flatten(1).double().cpu()
        count, total_D, squares_DD = count + len(x_BD), total_D + x_BD.sum(0), squares_DD + x_BD.T @ x_BD
    mean_D = total_D / count
    values, vectors = torch.linalg.eigh(squares_DD / count - mean_D[:, None] * mean_D)
    return Principal(mean_D, values.flip(0).clamp(min=0), vectors.flip(1))


def _fit_few(x_nD: Tensor) -> Principal:
    """Compute the principal directions of fewer samples than features, from their Gram matrix."""
    mean_D = x_nD.mean(0)
    centred_nD = x_nD - mean_D
    values, vectors = torch.linalg.eigh(centred_nD @ centred_nD.T / len(x_nD))
    kept = values > 1e-12 * values[-1]
    values_R, vectors_nR = values[kept].flip(0), vectors[:, kept].flip(1)
    return Principal(mean_D, values_R, centred_nD.T @ vectors_nR / (len(x_nD) * values_R).sqrt())


def variance(parts: Iterable[Tensor]) -> float:
    """Return the variance of samples, summed over their entries."""
    count, total, squares = 0, torch.zeros(()).double(), 0.0
    for part in parts:
        x_BD = part.flatten(1).double().cpu()
        count, total, squares = count + len(x_BD), total + x_BD.sum(0), squares + float(x_BD.square().sum())
    return squares / count - float((total / count).square().sum())


def certificates(grid: Grid, train: Batches, validation: Batches, l2: float) -> list[Certificate]:
    """Certify every linear autoencoder of a grid; none where PCA is too large."""
    plain = ((cell, model) for cell, model in grid.models() if isinstance(model, Autoencoder))
    linear = [(cell, model) for cell, model in plain if model.activation == "identity"]
    if not linear or too_large(train.x):
        return []
    principal = fit(batches(train))
    return [certify(cell, model, (train, validation), principal, l2) for cell, model in linear]


def certify(
    cell: Cell, model: Autoencoder, splits: tuple[Batches, Batches], principal: Principal, l2: float
) -> Certificate:
    """Compare a linear autoencoder with PCA on its training samples, and on the validation samples."""
    train, validation = splits
    values = principal.values_R
    latent = min(model.sizes)  # a narrower layer before it lets no more directions through
    loss, optimum = _loss(model, batches(train)), principal.left_out(latent)
    plain = cell.objective == "reconstruct" and not train.augment.augments
    penalised = _penalised(model, values, l2, loss) if l2 and plain and len(model.sizes) == 2 else None
    known = plain and (not l2 or penalised is not None)  # deeper ones with a penalty have no closed form here
    reached, best = (loss, optimum) if penalised is None else (penalised.objective, penalised.optimum)
    variance = float(values.sum())
    gap = (reached - best) / (best if best > 1e-6 * variance else variance or 1.0)
    has_gap = latent < len(values) and values[latent - 1] > 0  # few samples span fewer directions
    return Certificate(
        **cell._asdict(),
        loss=loss,
        optimum=optimum,
        gap=gap,
        val_loss=_loss(model, batches(validation)) if len(validation) else None,
        val_optimum=principal.error(batches(validation), latent) if len(validation) else None,
        angles=_angles(_product(model.decoder), principal.vectors_DR[:, :latent]),
        eigengap=float(1 - values[latent] / values[latent - 1]) if has_gap else None,
        converged=gap <= CONVERGED if known else None,
        penalised=penalised,
    )


def _penalised(model: Autoencoder, values: Tensor, l2: float, loss: float) -> Penalised:
    latent = model.sizes[-1]
    encoder_kD, decoder_Dk = _product(model.encoder), _product(model.decoder)
    kept_k = (1 - l2 / values[:latent]).clamp(min=0)
    cost_k = values[:latent].where(kept_k == 0, 2 * l2 - l2**2 / values[:latent])
    return Penalised(
        objective=loss + l2 * float(encoder_kD.square().sum() + decoder_Dk.square().sum()),
        optimum=float(cost_k.sum() + values[latent:].sum()),
        encoder=_singular(encoder_kD, latent),
        decoder=_singular(decoder_Dk, latent),
        closed_form=tuple(kept_k.sqrt().tolist()),
    )


def _loss(model: Autoencoder, parts: Iterable[Tensor]) -> float:
    count, error = 0, 0.0
    with torch.no_grad():
        for part in parts:
            count, error = count + len(part), error + float((model(part) - part).square().sum())
    return error / count


def _product(layers: nn.Module) -> Tensor:
    """Multiply a chain of linear layers into one matrix."""
    linear = (layer for layer in layers.modules() if isinstance(layer, nn.Linear))
    matrices = (layer.weight.detach().double().cpu() for layer in linear)
    return reduce(lambda product, matrix: matrix @ product, matrices)


def _singular(matrix: Tensor, count: int) -> tuple[float, ...]:
    return tuple(torch.linalg.svdvals(matrix)[:count].tolist())


def _angles(decoder_Dk: Tensor, vectors_Dk: Tensor) -> tuple[float, ...]:
    """Return the angles between two subspaces of the same size; none if they are the whole space."""
    if decoder_Dk.shape[1] >= decoder_Dk.shape[0]:
        return ()
    return tuple(np.degrees(subspace_angles(decoder_Dk.numpy(), vectors_Dk.numpy()))[::-1].tolist())
