"""The JSON log that the notebook of the autoencoder assignment saves, written from a run.

The first fields are the notebook's checks of a freshly built autoencoder of sizes 7-5-4 (seeds 2017 and
2022); `train1` holds the linear grid on the synthetic set, `train2` the non-linear autoencoder on MNIST.
Accuracies are in percent.
"""

import inspect
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vitruvius.nn.autoencoder import Autoencoder, build
from vitruvius.nn.seeding import torch_seeded
from vitruvius.objectives import Batch, Loss
from vitruvius.objectives.denoise import denoise
from vitruvius.objectives.mask import mask
from vitruvius.objectives.reconstruct import reconstruct
from vitruvius.pretraining import report
from vitruvius.pretraining.results import Points
from vitruvius.pretraining.settings import Pretraining

KINDS = {"reconstruct": "vanilla", "denoise": "denoise", "mask": "masking"}
"""What the notebook calls our objectives."""
TRACES = {"train_losses": "train_loss", "valid_losses": "valid_loss", "accuracy": "acc"}
"""What `train1` and `train2` call the same thing."""
Traces = dict[str, dict[str, list[list[float | None]]]]


def log(epochs: Sequence[Points], config: Pretraining) -> dict[str, Any]:
    """Return the whole log of a run."""
    traces = _traces(epochs)
    second = _second(traces, config) if config.model == "mlp" else None
    sources = {"vis_fn": inspect.getsource(report.curves)}
    return {"time": time.time(), **checks(), "train1": traces, **sources, "train2": second}


def checks() -> dict[str, Any]:
    """Return what the notebook computes before any training; the global RNG is left as it was."""
    with torch.random.fork_rng(devices=[]):
        model = _fresh()
        torch.default_generator.manual_seed(2022)
        first, second = torch.randn(2, 7), torch.randn(2, 7)
        reconstruct(model, Batch(first, None), None).value.backward()  # type: ignore[no-untyped-call]
        gradient = model.encoder[2].weight.grad
        assert isinstance(gradient, Tensor)
        return {
            "ae.0": sorted(model.state_dict()),
            "ae.1": model(second).flatten()[3:7].tolist(),
            "ae.2": reconstruct(model, Batch(second, None), None).value.item(),
            "ae.3": gradient.flatten()[11:15].tolist(),
            "dae": stepped(denoise)["encoder.2.weight"].flatten()[3:7].tolist(),
            "mae": stepped(mask)["encoder.2.weight"].flatten()[3:7].tolist(),
            "exp": chance_accuracy(2022),
        }


def stepped(objective: Callable[..., Loss]) -> dict[str, Tensor]:
    """Return the weights after one step of SGD with learning rate 1 on two fixed samples."""
    model = _fresh()
    torch.default_generator.manual_seed(2022)
    batch = Batch(torch.randn(2, 7), None)
    objective(model, batch, torch.default_generator).value.backward()  # type: ignore[no-untyped-call]
    torch.optim.SGD(model.parameters(), lr=1.0).step()
    return model.state_dict()


def chance_accuracy(seed: int) -> float:
    """Return the accuracy in percent of an untrained classifier and autoencoder on 400 synthetic samples."""
    random = np.random.RandomState(seed)
    variances = np.diag([15.0, 15.0, *[1.0] * 5])
    z = random.multivariate_normal(np.zeros(7), variances, 800)
    x = torch.from_numpy(z @ np.linalg.svd(random.randn(7, 7))[0])[400:].float()
    with torch_seeded(seed):
        model, classifier = Autoencoder(7, (5, 4)), torch.nn.Linear(4, 2)
    hits = classifier(model.encode(x)).argmax(1) == torch.from_numpy(z[400:, :2].sum(1) > 0)
    return 100 * int(hits.sum()) / len(hits)


def _fresh() -> Autoencoder:
    torch.default_generator.manual_seed(2017)
    return Autoencoder(7, (5, 4))


def _traces(epochs: Sequence[Points]) -> Traces:
    """Return all losses and accuracies in order of time, by 'kind.latent' and repeat."""
    found: Traces = {name: {} for name in TRACES}
    for index, point in enumerate(epochs[0].points):
        history = [epoch.points[index] for epoch in epochs]
        key = f"{KINDS.get(point.objective, point.objective)}.{point.latent}"
        values: dict[str, list[float | None]] = {
            "train_losses": [loss for entry in history for loss in entry.train_losses],
            "valid_losses": [entry.val_loss for entry in history],
            "accuracy": [100 * entry.accuracy for entry in history if entry.accuracy is not None],
        }
        for name, series in values.items():
            found[name].setdefault(key, []).append(series)
    return found


def _second(traces: Traces, config: Pretraining) -> dict[str, Any]:
    """Return the first kind and size of a non-linear run, as the notebook's second experiment saves it."""
    first, kind = next(iter(traces["accuracy"])), KINDS.get(config.objective[0], config.objective[0])
    chosen: dict[str, Any] = {"ae_type": kind, "batch_size": config.batch, "num_epochs": config.epochs}
    chosen |= {"hidden_dims": [*config.hidden, config.latent[0]], "activation": config.activation}
    chosen |= {"lr": config.lr, "noise_std": config.noise, "mask_prob": config.mask}
    found = {theirs: traces[ours][first] for ours, theirs in TRACES.items()}
    return {**found, "hparams": chosen, "build_model_fn": inspect.getsource(build)}
