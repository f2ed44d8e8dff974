"""Training a Vision Transformer as a classifier: data and network, the job, the result at the end."""

import copy
import inspect
from collections.abc import Iterator
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar

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
from vitruvius.nn.vit import ViT, build
from vitruvius.objectives import Batch, Loss
from vitruvius.training import (
    device,
    distributed,
    evaluate,
    init,
    mistakes,
    predictor,
    presets,
    report,
    results,
    sampling,
    teacher,
)
from vitruvius.training.average import Average
from vitruvius.training.batches import batches_of, require_classes
from vitruvius.training.loop import Job, Measure, has_ended
from vitruvius.training.predictor import Predictor
from vitruvius.training.recipe import ClassifierSettings, Mixing, Sampling
from vitruvius.training.results import Result, TestScore

S = TypeVar("S", bound=ClassifierSettings)
CPU = torch.device("cpu")


class Prepared(NamedTuple, Generic[S]):
    """What is trained: settings with the chosen recipe, data and network; and what was chosen, in words."""

    settings: S
    data: Dataset
    arch: Arch
    reasons: tuple[str, ...]


def prepare(settings: S) -> Prepared[S]:
    """Load the data, choose recipe and network for them; refuse, before training, what cannot work."""
    _objective(settings)
    optimisers.get(settings.optimiser)
    data = settings.load()
    require_classes(data)
    if settings.init:
        data = init.normalised_like(data, settings.init)
    settings, reasons = presets.resolve(settings, data)
    arch = settings.resolve(data, batch=-(-settings.batch // settings.accumulate))
    if settings.init:
        init.refuse_misfit(settings.init, arch)
    _refuse_impossible(settings, data, arch)
    return Prepared(settings, data, arch, reasons)


def describe(settings: ClassifierSettings, data: Dataset, arch: Arch) -> Iterator[Note]:
    """Yield notes about the data and the network."""
    yield Note(text=f"{data.name}: {data.counts} images of {len(data.classes)} classes")
    params, macs = cost.cost(arch)[:2]
    yield Note(text=f"{settings.arch}: {params:,} parameters, {macs:,} multiply-adds per image")
    if not len(data.test):
        yield Note(text=f"{data.name}: there is no test set, the result is the accuracy on validation images")
    fits = settings.warmup_steps(len(data.train))
    if fits < settings.warmup:
        total = settings.total_steps(len(data.train))
        why = f"a warm-up of {settings.warmup:,} steps does not fit into {total:,}"
        yield Note(text=f"{why}: it takes {fits:,}, half of them", warning=True)
    yield from init.notes(settings, data, arch)
    if settings.freeze and not settings.init:
        text = f"--freeze {settings.freeze} without --init: these layers stay at their random weights"
        yield Note(text=text, warning=True)
    if settings.compile == "off" and device.compiler() is None:
        yield Note(text="no C++ compiler found: training runs without torch.compile")


def inputs(settings: ClassifierSettings, data: Dataset) -> dict[str, str]:
    """Return the SHA-256 of what is read, which must be the same when a run is resumed."""
    taught = {"teacher_sha256": teacher.fingerprint(settings.teacher)} if settings.teacher else {}
    return {"data_sha256": data.sha256, **taught}


def job(settings: ClassifierSettings, data: Dataset, arch: Arch, where: torch.device) -> Job:
    """Build the model and everything that trains it; precision and compilation must be decided."""
    precision = device.PRECISIONS[settings.precision]
    dtype = torch.float64 if precision is torch.float64 else torch.float32
    net = build(arch, settings.seed)
    if settings.init:
        init.fill(net, init.read(settings.init))
    net.set_drop_path(settings.drop_path)
    net.freeze(settings.freeze)
    model = distributed.wrap(net.to(where, dtype)).train()
    measure, compiled = _measure(settings, data, where, dtype), None
    if settings.compile == "on":
        forward: Any = torch.compile(model)

        def compiled(_: nn.Module, batch: Batch, generator: Generator | None) -> Loss:
            return measure(forward, batch, generator)

    torch.manual_seed(settings.seed + distributed.rank())
    tensors: dict[str, Any] = {"dtype": dtype, "device": where}
    chosen: dict[str, Any] = {
        "augment": settings.on(data.shape[-1]),
        "mixing": Mixing(mixup=settings.mixup, cutmix=settings.cutmix),
        "sampling": Sampling(repeat=settings.repeat, balance=settings.balance),
    }
    rate = settings.lr if settings.lr != "auto" else 1.0  # which the range test will replace
    return Job(
        model=model,
        measure=measure,
        compiled=compiled,
        train=batches_of(data, data.train, seed=settings.seed, **chosen, **tensors),
        validation=batches_of(data, data.validation, **tensors),
        recipe=settings,
        autocast=torch.bfloat16 if precision is torch.bfloat16 else None,
        optimiser=optimisers.build(
            settings.optimiser, model, rate, settings.weight_decay, settings.layer_decay
        ),
        average=Average(net, settings.ema) if settings.ema else None,
        patience=settings.patience,
    )


def finish(
    folder: RunFolder, settings: ClassifierSettings, data: Dataset, arch: Arch, job: Job, **more: Any
) -> Result:
    """Test the best weights of a run that has ended; write model.json, the result and the report.

    `more` are the fields of the result that the training itself does not know.
    """
    files.write_json(folder.path("model.json"), {"arch": arch.model_dump(mode="json"), **data.labels})
    readings, cursor = evaluate.read_test(folder, job, data), job.cursor
    finished = has_ended(job)
    test = readings.of(files.sha256(folder.path("model.safetensors"))) if finished else None
    result = Result(
        test_accuracy=None if test is None else test.accuracy,
        test_loss=None if test is None else test.loss,
        test_interval=None if test is None else test.interval,
        test_top5=None if test is None else test.top5,
        test_images=len(data.test),
        test_readings=readings.count,
        finished=finished,
        val_accuracy=cursor.best_score if len(data.validation) and cursor.best_epoch else None,
        best_epoch=cursor.best_epoch,
        epochs=cursor.epoch,
        warmup_steps=settings.warmup_steps(len(data.train)),
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
    wrong = _shown_mistakes(job, data, test) if test else []
    report.write(folder, report.Trained(settings, data, arch, result, test, wrong))
    return result


def _shown_mistakes(job: Job, data: Dataset, test: TestScore) -> list[mistakes.Shown]:
    """Return the test images that the model gets most confidently wrong, drawn on the CPU in float32."""
    net = copy.deepcopy(distributed.unwrap(job.model)).to(CPU, torch.float32)
    assert isinstance(net, ViT)
    model = Predictor(net.eval(), data.classes, *predictor.scale_tensors(data.mean, data.std))
    return mistakes.shown(model, data.test, test.wrong)


def _objective(settings: ClassifierSettings) -> objectives.Objective:
    """Return the objective; refuse several, and one that does not read the labels or lacks an option."""
    if len(settings.objective) != 1:
        raise UserError(f"--objective {','.join(settings.objective)}: training takes exactly one objective")
    (name,) = settings.objective
    members = plugins.members("objectives")
    labelled = [member for member in members if plugins.constant(members[member].path, "NEEDS_LABELS")]
    if name in members and name not in labelled:
        known = f"{', '.join(labelled)} (or a file: ./mine.py:name), or use `vitruvius pretrain`"
        raise UserError(f"--objective {name}: it trains no classifier; choose from {known}")
    objective = objectives.get(name)
    taken = inspect.signature(objective).parameters
    asked = {
        "label_smoothing": ("--label-smoothing", settings.label_smoothing),
        "class_weights": ("--balance weights", settings.balance == "weights"),
        "teacher": ("--teacher", settings.teacher),
    }
    for option, (flag, is_asked) in asked.items():
        if is_asked and option not in taken:
            raise UserError(f"{flag}: the objective {name} does not take it")
    if (settings.mixup or settings.cutmix) and name != "classify":
        flag = "--mixup" if settings.mixup else "--cutmix"
        raise UserError(f"{flag}: mixed labels are counted by the objective classify, not by {name}")
    return objective


def _measure(settings: ClassifierSettings, data: Dataset, where: torch.device, dtype: torch.dtype) -> Measure:
    """Return the objective with the options that were asked for."""
    options: dict[str, Any] = {}
    if settings.label_smoothing:
        options["label_smoothing"] = settings.label_smoothing
    if settings.balance == "weights":
        assert data.train.y is not None
        options["class_weights"] = sampling.class_weights(data.train.y, len(data.classes)).to(where, dtype)
    if settings.teacher:
        options["teacher"] = teacher.load(settings.teacher, data, where, dtype)
        options["teacher_share"], options["temperature"] = settings.teacher_share, settings.temperature
    objective = _objective(settings)
    return partial(objective, **options) if options else objective


def _refuse_impossible(settings: ClassifierSettings, data: Dataset, arch: Arch) -> None:
    """Refuse settings that do not fit the data or the network, and a teacher that cannot teach."""
    if settings.freeze > arch.depth:
        raise UserError(f"--freeze {settings.freeze}: the network has {arch.depth} layers")
    if settings.patience and not len(data.validation):
        why = f"{data.name} has no validation images by which an epoch could be better"
        raise UserError(f"--patience {settings.patience}: {why}; --validation N puts some aside")
    if settings.teacher:
        teacher.load(settings.teacher, data, CPU, torch.float32)
