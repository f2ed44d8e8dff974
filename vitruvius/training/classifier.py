"""Training a Vision Transformer as a classifier: data and network, the job, the result at the end."""

import copy
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import torch

from vitruvius import datasets, objectives, optimisers
from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core import files, plugins
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError
from vitruvius.core.records import Note, Record
from vitruvius.core.runs import RunFolder
from vitruvius.datasets import Dataset
from vitruvius.nn.vit import ViT, build
from vitruvius.training import (
    auto,
    baselines,
    comparison,
    compiling,
    device,
    distributed,
    evaluate,
    init,
    memory,
    mistakes,
    predictor,
    recipes,
    report,
    results,
    sampling,
    teacher,
)
from vitruvius.training.average import Average
from vitruvius.training.batches import batches_of, require_classes
from vitruvius.training.loop import EVALUATION_BATCH, Job, Measure
from vitruvius.training.predictor import Predictor
from vitruvius.training.recipe import ClassifierSettings, Mixing, Sampling
from vitruvius.training.results import Baselines, Result, TestScore

CPU = torch.device("cpu")
S = TypeVar("S", bound=ClassifierSettings)


@dataclass(frozen=True)
class Prepared(Generic[S]):
    """A training that can begin: settings with what the data decide, data, network, what it has to beat."""

    settings: S
    data: Dataset
    arch: Arch
    baselines: Baselines | None = None
    chosen: tuple[str, ...] = ()
    """What was chosen for the data, a sentence for each choice."""


def prepare(settings: S, is_new: bool = True) -> Prepared[S]:
    """Load the data and choose the network for them; refuse, before anything is trained, what cannot work.

    What a new training of the user's own pictures leaves open is decided by the data; a resumed one has it.
    """
    _objective(settings)
    optimisers.get(settings.optimiser)
    data = settings.load()
    require_classes(data)
    if settings.init:
        data = init.normalised_like(data, settings.init)
    if not is_new:
        _, chosen = auto.completed(settings, _facts(data, None))
        return Prepared(settings, data, _network(settings, data), chosen=chosen)
    known = baselines.measure(data) if distributed.rank() == 0 else None
    facts = _facts(data, known)
    settings, said = recipes.resolve(settings, facts)
    settings, chosen = auto.completed(settings, facts)
    return Prepared(settings, data, _network(settings, data), known, (*said, *chosen))


def _network(settings: ClassifierSettings, data: Dataset) -> Arch:
    arch = settings.resolve(data)
    if settings.init:
        init.refuse_misfit(settings.init, arch)
    _refuse_impossible(settings, data, arch)
    return arch


def _facts(data: Dataset, known: Baselines | None) -> auto.Facts:
    return auto.Facts(
        images=len(data.train),
        classes=len(data.classes),
        side=data.shape[-1],
        channels=data.shape[0],
        mirrored=known.mirrored if known else None,
    )


def decided(settings: S, data: Dataset, arch: Arch, alone: bool = False) -> S:
    """Return the settings with every 'auto' decided; `alone`: in one process, not compiled.

    Refuses what does not fit into the memory of the device that was chosen.
    """
    where = device.choose_device(settings.device)
    precision = device.choose_precision(settings.precision, where)
    work = cost.cost(arch).macs * settings.batch * settings.total_steps(len(data.train))
    recomputes = settings.compile == "auto" and settings.save_memory  # a compiler decides itself what to keep
    pays = device.should_compile(settings.compile, work, settings.time_limit)
    compiles = pays and not alone and not recomputes
    workers = _workers(settings, arch, work, where, alone)
    processes = max(workers, distributed.world_size())
    part = -(-settings.batch // (settings.accumulate * processes))
    memory.refuse_if_too_big(arch, part, where, precision, settings.save_memory, processes)
    found = {"device": where.type, "precision": precision, "compile": "on" if compiles else "off"}
    return settings.model_copy(update={**found, "workers": workers})


def _workers(settings: ClassifierSettings, arch: Arch, work: int, where: torch.device, alone: bool) -> int:
    """Return the number of processes that `train` starts itself; refuse more than one where it may not."""
    started = distributed.world_size()
    if settings.workers > 1 and (alone or started not in (1, settings.workers)):
        who = "the doctor watches one process" if alone else f"torchrun has started {started} processes"
        raise UserError(f"--workers {settings.workers}: {who}")
    if alone or started > 1:
        return max(1, settings.workers)
    part, threads = settings.batch // settings.accumulate, settings.threads or torch.get_num_threads()
    return device.choose_workers(settings.workers, arch, part, work, where, threads)


def describe(prepared: Prepared[S]) -> Iterator[Record]:
    """Yield what is known about the data and the network before the training begins."""
    settings, data, arch = prepared.settings, prepared.data, prepared.arch
    if data.files is not None:
        yield datasets.survey(data)
    yield Note(text=f"{data.name}: {data.counts} images of {len(data.classes)} classes")
    for sentence in prepared.chosen:
        yield Note(text=f"chosen for these data: {sentence}")
    if prepared.baselines:
        yield prepared.baselines
    params, macs = cost.cost(arch)[:2]
    yield Note(text=f"{settings.arch}: {params:,} parameters, {macs:,} multiply-adds per image")
    if not len(data.test):
        yield Note(text=f"{data.name}: there is no test set, the result is the accuracy on validation images")
    fits = settings.warmup_steps(len(data.train))
    if fits < settings.warmup:
        total = settings.total_steps(len(data.train))
        why = f"a warm-up of {counted(settings.warmup, 'step')} does not fit into {total:,}"
        yield Note(text=f"{why}: it takes {fits:,}, half of them", warning=True)
    yield from init.notes(settings, data, arch)
    if settings.freeze and not settings.init:
        text = f"--freeze {settings.freeze} without --init: these layers stay at their random weights"
        yield Note(text=text, warning=True)
    if settings.workers > 1:
        yield Note(
            text=f"{settings.workers} processes share each batch; bits depend on their number, as on threads"
        )
    if settings.device not in ("auto", "cpu"):
        yield Note(
            text=f"{settings.device}: {device.NOT_IDENTICAL}, repeated or resumed the run differs in bits"
        )
    if settings.compile == "off" and device.compiler() is None:
        yield Note(text="no C++ compiler found: training runs without torch.compile")


def inputs(settings: ClassifierSettings, data: Dataset) -> dict[str, Any]:
    """Return the SHA-256 of what is read, which must be the same when a run is resumed."""
    taught = {"teacher_sha256": teacher.fingerprint(settings.teacher)} if settings.teacher else {}
    return {"data_sha256": data.sha256, **taught}


def job(settings: ClassifierSettings, data: Dataset, arch: Arch, where: torch.device) -> Job:
    """Build the model and everything that trains it; precision and compilation must be decided."""
    precision = device.PRECISIONS[settings.precision]
    dtype = torch.float64 if precision is torch.float64 else torch.float32
    net = build(arch, settings.seed)
    net.recomputes = settings.save_memory
    if settings.init:
        init.fill(net, init.read(settings.init))
    net.set_drop_path(settings.drop_path)
    net.freeze(settings.freeze)
    model = net.to(where, dtype).train()
    measure = _measure(settings, data, where, dtype)
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
        compiled=compiling.compiled(model, measure, where) if settings.compile == "on" else None,
        train=batches_of(data, data.train, seed=settings.seed, **chosen, **tensors).placed(),
        validation=batches_of(data, data.validation, **tensors).placed(),
        evaluation_batch=memory.evaluation_batch(arch, where, EVALUATION_BATCH),
        recipe=settings,
        autocast=precision if precision in (torch.bfloat16, torch.float16) else None,
        scaler=torch.amp.GradScaler(where.type) if precision is torch.float16 else None,
        optimiser=optimisers.build(
            settings.optimiser, model, rate, settings.weight_decay, settings.layer_decay
        ),
        average=Average(model, settings.ema) if settings.ema else None,
        patience=settings.patience,
    )


def finish(
    folder: RunFolder,
    settings: ClassifierSettings,
    data: Dataset,
    arch: Arch,
    job: Job,
    known: Baselines | None = None,
    **more: Any,
) -> Result:
    """Test the best weights of a run that has ended; write model.json, the result and the report.

    `known` are baselines that were measured in this start, `more` are the fields of the result that the
    training itself does not know.
    """
    files.write_json(folder.path("model.json"), {"arch": arch.model_dump(mode="json"), **data.labels})
    readings, cursor = evaluate.read_test(folder, job, data), job.cursor
    test = readings.of(files.sha256(folder.path("model.safetensors"))) if job.is_finished else None
    accuracy = cursor.best_score if len(data.validation) and cursor.best_epoch else None
    known = _baselines(folder, data, known, test is not None)
    if known and job.is_finished:
        reached = test.accuracy if test else accuracy
        more |= {"against_baselines": _comparison(folder, settings, data, known, reached)}
    result = Result(
        test_accuracy=None if test is None else test.accuracy,
        test_loss=None if test is None else test.loss,
        test_interval=None if test is None else test.interval,
        test_top5=None if test is None else test.top5,
        test_images=len(data.test),
        test_readings=readings.count,
        finished=job.is_finished,
        val_accuracy=accuracy,
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
        baselines=known,
        **more,
    )
    folder.keep(result)
    wrong = _shown_mistakes(job, data, test) if test else []
    report.write(folder, report.Trained(settings, data, arch, result, test, wrong))
    return result


def _shown_mistakes(job: Job, data: Dataset, test: TestScore) -> list[mistakes.Shown]:
    """Return the test images that the model gets most confidently wrong, drawn on the CPU in float32."""
    net = copy.deepcopy(job.model).to(CPU, torch.float32)
    assert isinstance(net, ViT)
    model = Predictor(net.eval(), data.classes, *predictor.scale_tensors(data.mean, data.std))
    return mistakes.shown(model, data.test, test.wrong)


def _baselines(folder: RunFolder, data: Dataset, known: Baselines | None, tested: bool) -> Baselines | None:
    """Return the baselines that the folder keeps; add the test images once the network has been tested."""
    known = baselines.read(folder) or known or baselines.measure(data)
    if known is None:
        return None
    if tested and known.best("test") is None:
        known = baselines.test(known, data)
    baselines.keep(folder, known)
    return known


def _comparison(
    folder: RunFolder, settings: ClassifierSettings, data: Dataset, known: Baselines, reached: float | None
) -> str:
    """Say whether the network is better than the baselines, and why it is not."""
    epochs = results.epochs(folder.records())
    if reached is None or not epochs:
        return ""
    side = data.shape[-1]
    part = "test" if len(data.test) else "val"
    training = comparison.Training(
        accuracy=reached,
        train_accuracy=epochs[-1].train_accuracy,
        images=len(data.train),
        classes=len(data.classes),
        steps=settings.total_steps(len(data.train)),
        side=side,
        augment=settings.on(side),
        judged=len(data.test if part == "test" else data.validation),
        arch=str(settings.arch),
    )
    return comparison.sentence(part, known, training)


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
        raise UserError(f"--freeze {settings.freeze}: the network has {counted(arch.depth, 'layer')}")
    if settings.patience and not len(data.validation):
        why = f"{data.name} has no validation images by which an epoch could be better"
        raise UserError(f"--patience {settings.patience}: {why}; --validation N puts some aside")
    if settings.teacher:
        teacher.load(settings.teacher, data, CPU, torch.float32)
