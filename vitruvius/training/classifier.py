"""Training a Vision Transformer as a classifier: data and network, the job, the test score at the end."""

import inspect
from collections.abc import Iterator
from typing import Any

import torch
from torch import Generator, nn

from vitruvius import objectives, optimisers
from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core import files, plugins
from vitruvius.core.errors import UserError
from vitruvius.core.records import Note
from vitruvius.core.runs import RunFolder
from vitruvius.datasets import Dataset
from vitruvius.nn.vit import build
from vitruvius.objectives import Batch, Loss
from vitruvius.training import device, distributed, evaluate, loop, predictor, report, results
from vitruvius.training.batches import batches_of, require_classes
from vitruvius.training.loop import Job, Measure
from vitruvius.training.recipe import Augment, ClassifierSettings
from vitruvius.training.results import Result


def prepare(settings: ClassifierSettings) -> tuple[Dataset, Arch]:
    """Load the data and choose the network for them; refuse, before anything is trained, what cannot work."""
    _measure(settings)
    optimisers.get(settings.optimiser)
    data = settings.load(settings.seed)
    require_classes(data)
    if settings.init:
        data = predictor.normalised_like(data, settings.init)
    return data, settings.resolve(data, batch=-(-settings.batch // settings.accumulate))


def describe(settings: ClassifierSettings, data: Dataset, arch: Arch) -> Iterator[Note]:
    """Yield notes about the data and the network."""
    train, validation, test = len(data.train), len(data.validation), len(data.test)
    counts = f"{train:,} training, {validation:,} validation, {test:,} test images"
    yield Note(text=f"{data.name}: {counts} of {len(data.classes)} classes")
    params, macs = cost.cost(arch)[:2]
    yield Note(text=f"{settings.arch}: {params:,} parameters, {macs:,} multiply-adds per image")
    if settings.init:
        for text in predictor.init_notes(settings.init, arch):
            yield Note(text=f"--init {settings.init}: {text}")
    if settings.compile == "off" and device.compiler() is None:
        yield Note(text="no C++ compiler found: training runs without torch.compile")


def job(settings: ClassifierSettings, data: Dataset, arch: Arch, where: torch.device) -> Job:
    """Build the model and everything that trains it; precision and compilation must be decided."""
    precision = device.PRECISIONS[settings.precision]
    dtype = torch.float64 if precision is torch.float64 else torch.float32
    net = build(arch, settings.seed)
    if settings.init:
        predictor.load_weights(net, settings.init)
    model = distributed.wrap(net.to(where, dtype)).train()
    measure, compiled = _measure(settings), None
    if settings.compile == "on":
        forward: Any = torch.compile(model)

        def compiled(_: nn.Module, batch: Batch, generator: Generator | None) -> Loss:
            return measure(forward, batch, generator)

    torch.manual_seed(settings.seed + distributed.rank())
    augment = Augment(shift=settings.shift, crop=settings.crop, flip=settings.flip)
    tensors: dict[str, Any] = {"dtype": dtype, "device": where}
    return loop.Job(
        model=model,
        measure=measure,
        compiled=compiled,
        train=batches_of(data, data.train, seed=settings.seed, augment=augment, **tensors),
        validation=batches_of(data, data.validation, **tensors),
        recipe=settings,
        autocast=torch.bfloat16 if precision is torch.bfloat16 else None,
        optimiser=optimisers.build(settings.optimiser, model, settings.lr, settings.weight_decay),
    )


def finish(
    folder: RunFolder, settings: ClassifierSettings, data: Dataset, arch: Arch, job: Job, **more: Any
) -> Result:
    """Evaluate the best weights on the test images, once; write model.json, the result and the report.

    `more` are the fields of the result that the training itself does not know.
    """
    files.write_json(
        folder.path("model.json"), {"arch": arch.model_dump(mode="json"), **evaluate.labels(data)}
    )
    test, cursor = evaluate.evaluate_test(job, data), job.cursor
    result = Result(
        test_accuracy=test.accuracy,
        test_loss=test.loss,
        val_accuracy=cursor.best_score if len(data.validation) and cursor.best_epoch else None,
        best_epoch=cursor.best_epoch,
        epochs=cursor.epoch,
        seconds=cursor.seconds,
        images_per_second=results.images_per_second(results.epochs(folder.records())),
        params=cost.cost(arch).params,
        seed=settings.seed,
        run=str(folder.folder),
        data=data.name,
        compile=settings.compile,
        **more,
    )
    folder.keep(result)
    report.write(folder, settings, data, result, test)
    return result


def _measure(settings: ClassifierSettings) -> Measure:
    """Return the objective with its options; refuse several, and one that does not read the labels."""
    if len(settings.objective) != 1:
        raise UserError(f"--objective {','.join(settings.objective)}: training takes exactly one objective")
    (name,) = settings.objective
    members = plugins.members("objectives")
    labelled = [member for member in members if plugins.constant(members[member].path, "NEEDS_LABELS")]
    if name in members and name not in labelled:
        raise UserError(
            f"--objective {name}: it trains no classifier; choose from {', '.join(labelled)} "
            "(or a file: ./mine.py:name), or use `vitruvius pretrain`"
        )
    objective = objectives.get(name)
    options: dict[str, Any] = {}
    if settings.label_smoothing:
        if "label_smoothing" not in inspect.signature(objective).parameters:
            raise UserError(f"--label-smoothing: the objective {name} does not take it")
        options["label_smoothing"] = settings.label_smoothing

    def measure(model: nn.Module, batch: Batch, generator: Generator | None) -> Loss:
        return objective(model, batch, generator, **options)

    return measure
