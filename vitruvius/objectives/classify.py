r"""Classify images: mean cross-entropy of the class scores, with label smoothing on request.

$L = -\frac1B\sum_b \big[(1-\epsilon)\log p_{b,y_b} + \frac{\epsilon}{K}\sum_k \log p_{b,k}\big]$ (Szegedy et
al. 2016). A mixed image has two labels with shares $\lambda$ and $1 - \lambda$, a class weight multiplies the
loss of its class, and a teacher adds a distillation loss. Shapes: B batch, K classes.
"""

from collections.abc import Callable

from torch import Generator, Tensor, nn, where
from torch.nn import functional

from vitruvius.objectives import Batch, Loss

NEEDS_LABELS = True


def classify(
    model: nn.Module,
    batch: Batch,
    generator: Generator | None,
    *,
    label_smoothing: float = 0.0,
    class_weights: Tensor | None = None,
    teacher: Callable[[Tensor], Tensor] | None = None,
    teacher_share: float = 0.5,
    temperature: float = 1.0,
) -> Loss:
    """Return the loss of the class scores; in evaluation (no generator) the plain cross-entropy.

    The options are those of a training: smoothed labels, a weight per class (K,), the scores of a teacher for
    the same images, of which `teacher_share` of the loss consists.
    """
    assert batch.y is not None, "classification needs labels"
    scores_BK = model(batch.x)
    if generator is None:
        value = functional.cross_entropy(scores_BK, batch.y)
        return Loss(value, (scores_BK.argmax(1) == batch.y).sum())
    value = _cross_entropy(scores_BK, batch.y, batch.share, label_smoothing, class_weights)
    label_B = batch.y
    if batch.other is not None and batch.share is not None:
        others = 1 - batch.share
        value = value + _cross_entropy(scores_BK, batch.other, others, label_smoothing, class_weights)
        label_B = where(batch.share >= 0.5, batch.y, batch.other)  # the one that is more visible
    if teacher is not None:
        wanted_BK = teacher(batch.x)  # the network may have more classes than the data
        lesson = distillation(scores_BK[:, : wanted_BK.shape[1]], wanted_BK, temperature)
        value = (1 - teacher_share) * value + teacher_share * lesson
    return Loss(value, (scores_BK.argmax(1) == label_B).sum())


def distillation(scores_BK: Tensor, teacher_BK: Tensor, temperature: float) -> Tensor:
    r"""Return $\frac{T^2}{B}\sum_b \mathrm{KL}(p'_b \Vert p_b)$ of softer probabilities (Hinton et al. 2015).

    $p = \mathrm{softmax}(s / T)$ of the student's scores, $p'$ of the teacher's; the factor keeps gradients
    of one size at every temperature.
    """
    student = functional.log_softmax(scores_BK / temperature, -1)
    wanted = functional.log_softmax(teacher_BK / temperature, -1)
    return temperature**2 * functional.kl_div(student, wanted, reduction="batchmean", log_target=True)


def _cross_entropy(
    scores_BK: Tensor, y_B: Tensor, share_B: Tensor | None, smoothing: float, class_weights: Tensor | None
) -> Tensor:
    """Return the mean over samples, each multiplied by its share and by the weight of its class.

    torch's own class weights divide by their sum, by which parts of a batch would not add up to the whole.
    """
    if share_B is None and class_weights is None:
        return functional.cross_entropy(scores_BK, y_B, label_smoothing=smoothing)
    loss_B = functional.cross_entropy(scores_BK, y_B, label_smoothing=smoothing, reduction="none")
    if share_B is not None:
        loss_B = loss_B * share_B
    return (loss_B if class_weights is None else loss_B * class_weights[y_B]).mean()
