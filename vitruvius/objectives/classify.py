r"""Classify images: mean cross-entropy of the class scores, with label smoothing on request.

$L = -\frac1B\sum_b \big[(1-\epsilon)\log p_{b,y_b} + \frac{\epsilon}{K}\sum_k \log p_{b,k}\big]$ (Szegedy et
al. 2016).
"""

from torch import Generator, nn
from torch.nn import functional

from vitruvius.objectives import Batch, Loss

NEEDS_LABELS = True


def classify(
    model: nn.Module, batch: Batch, generator: Generator | None, *, label_smoothing: float = 0.0
) -> Loss:
    """Return the cross-entropy of the class scores; in evaluation (no generator) without smoothing."""
    assert batch.y is not None, "classification needs labels"
    scores_BK = model(batch.x)
    smoothing = label_smoothing if generator is not None else 0.0
    value = functional.cross_entropy(scores_BK, batch.y, label_smoothing=smoothing)
    return Loss(value, (scores_BK.argmax(1) == batch.y).sum())
