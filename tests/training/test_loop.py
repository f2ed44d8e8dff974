"""The training loop: parts of a batch equal the whole, the order depends on (seed, epoch), faults stop it."""

import itertools
import math
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from vitruvius.arch.arch import Arch
from vitruvius.core import allocator
from vitruvius.core.errors import Interrupted, WorkFailed
from vitruvius.nn.vit import build
from vitruvius.objectives import Batch, Loss
from vitruvius.objectives.classify import classify
from vitruvius.optimisers.adamw import AdamW
from vitruvius.training import checkpoint, loop, seeds
from vitruvius.training.batches import Batches
from vitruvius.training.loop import Job
from vitruvius.training.recipe import Augment, ClassifierSettings, Mixing, Recipe
from vitruvius.training.results import Epoch, Paused

ARCH = Arch(image=8, patch=4, width=8, depth=1, heads=2, mlp=8, classes=2)


def data(count: int = 50) -> tuple[torch.Tensor, torch.Tensor]:
    """Bright left halves against bright right halves, with noise."""
    source = torch.Generator().manual_seed(0)
    y = torch.arange(count) % 2
    x = torch.randint(0, 100, (count, 1, 8, 8), generator=source, dtype=torch.uint8)
    x[y == 0, :, :, :4] += 100
    x[y == 1, :, :, 4:] += 100
    return x, y


def job(dtype: torch.dtype = torch.float64, **recipe: object) -> Job:
    x, y = data()
    train = Batches(x, y, dtype=dtype, augment=Augment(shift=1), seed=3)
    model = build(ARCH, seed=0).to(dtype)
    settings = Recipe(**{"epochs": 2, "batch": 16, "lr": 0.01, "warmup": 2, "clip": 0.0, **recipe})
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01)
    validation = Batches(x[:20], y[:20], dtype=dtype)
    return Job(model, classify, train, validation, settings, optimiser)


def weights(model: nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


@pytest.mark.parametrize("parts", [2, 3, 5, 16, 40])
def test_accumulated_parts_equal_the_whole_batch(parts: int) -> None:
    """50 samples in batches of 16: the last batch has 2, and most numbers of parts do not divide 16."""
    whole, cut = job(), job(accumulate=parts)
    for work in (whole, cut):
        list(loop.run(work))
    torch.testing.assert_close(weights(whole.model), weights(cut.model), rtol=1e-12, atol=1e-12)


def test_training_lowers_the_loss_and_reports_each_epoch() -> None:
    records = [record for record in loop.run(job(epochs=8)) if isinstance(record, Epoch)]
    assert [record.epoch for record in records] == list(range(1, 9))
    assert records[-1].train_loss < 0.7 * records[0].train_loss
    assert records[-1].val_accuracy == 1.0


def test_freed_memory_is_kept_from_the_first_step_to_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    set_to: list[object] = []
    monkeypatch.setattr(allocator, "_set", set_to.append)
    work = loop.run(job(epochs=2))
    next(work)
    assert set_to == [allocator.KEEP]
    list(work)
    assert set_to == [allocator.KEEP, allocator.RELEASE]


def test_the_epoch_record_is_the_mean_over_its_samples() -> None:
    work = job(epochs=1, lr=1e-30)  # weights stand still
    work.train = Batches(work.train.x, work.train.y, dtype=torch.float64)
    (record,) = [record for record in loop.run(work) if isinstance(record, Epoch)]
    expected = classify(work.model, work.train.batch(torch.arange(50)), None)
    assert record.train_loss == pytest.approx(expected.value.item(), rel=1e-6)
    assert record.train_accuracy == int(expected.correct) / 50  # type: ignore[arg-type]


def test_order_is_a_function_of_seed_and_epoch() -> None:
    x, y = data()
    batches = Batches(x, y, seed=1)
    assert torch.equal(batches.order(3), Batches(x, y, seed=1).order(3))
    assert not torch.equal(batches.order(3), batches.order(4))
    assert not torch.equal(batches.order(3), Batches(x, y, seed=2).order(3))
    assert batches.order(0).sort().values.tolist() == list(range(50))


def test_clipping_bounds_the_gradient() -> None:
    work = job(clip=1e-3)
    seen = []
    work.optimiser.register_step_pre_hook(
        lambda optimiser, *rest: seen.append(
            math.sqrt(sum(float(p.grad.square().sum()) for p in optimiser.param_groups[0]["params"]))
        )
    )
    list(loop.run(work))
    assert max(seen) <= 1e-3 * (1 + 1e-6)


def test_a_loss_that_is_no_number_stops_with_a_pointer() -> None:
    work = job()
    with torch.no_grad():
        work.model.head.bias.fill_(torch.nan)  # type: ignore[union-attr,operator]
    with pytest.raises(WorkFailed, match=r"loss became nan in step 1 .*vitruvius doctor"):
        list(loop.run(work))


def test_a_signal_saves_and_leaves_with_its_exit_code() -> None:
    work, saved = job(), []
    work.save = lambda job: saved.append(job.cursor.step)
    work.stop.signal = 15
    with pytest.raises(Interrupted) as caught:
        list(loop.run(work))
    assert caught.value.exit_code == 143
    assert saved == [1]


def test_a_time_limit_ends_the_run_with_its_state_saved() -> None:
    work, saved = job(time_limit=1e-9), []
    work.save = lambda job: saved.append(job.cursor.step)
    assert not [record for record in loop.run(work) if isinstance(record, Epoch)]
    assert saved == [1]


def test_the_best_epoch_is_the_one_with_the_highest_validation_accuracy() -> None:
    work, kept = job(epochs=6), []
    work.keep_best = lambda job: kept.append(job.cursor.best_epoch)
    records = [record for record in loop.run(work) if isinstance(record, Epoch)]
    best = max(records, key=lambda record: (record.val_accuracy, -(record.val_loss or 0.0)))
    assert kept[-1] == best.epoch


def test_between_equal_accuracies_the_lower_loss_is_better() -> None:
    cursor = loop.Cursor(best_score=1.0, best_loss=0.5)
    assert loop._is_better(1.0, 0.4, cursor)
    assert not loop._is_better(1.0, 0.5, cursor)
    assert not loop._is_better(0.9, 0.1, cursor)
    assert loop._is_better(1.1, 0.9, cursor)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.999, 1 - 1e-7, 1.0, 1 + 1e-7, 1.01, 30.0])
def test_clipping_has_the_bits_of_torch(share: float) -> None:
    torch.manual_seed(0)
    ours, theirs = [torch.randn(size) for size in (3, 70, 1)], [torch.zeros(size) for size in (3, 70, 1)]
    for mine, other in zip(ours, theirs, strict=True):
        other.grad = mine.clone()
    limit = share * float(nn.utils.get_total_norm(ours))
    expected = nn.utils.clip_grad_norm_(theirs, limit or math.inf)
    assert loop._clip(ours, limit) == float(expected)
    assert all(torch.equal(mine, other.grad) for mine, other in zip(ours, theirs, strict=True))  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [0.0, 0.5, 1e6])
def test_gradients_in_one_tensor_are_clipped_as_each_for_itself(limit: float) -> None:
    flat = torch.randn(74, generator=torch.Generator().manual_seed(0))
    each = [part.clone() for part in flat.split([3, 70, 1])]
    assert loop._clip([flat], limit) == pytest.approx(float(loop._clip(each, limit)))
    assert torch.allclose(flat, torch.cat(each), rtol=1e-6, atol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_our_adamw_takes_the_same_steps_and_scales_the_gradients_itself(dtype: torch.dtype) -> None:
    ours, theirs = (job(dtype, clip=0.3) for _ in range(2))
    scaled: list[bool] = []
    for work, kind in ((ours, AdamW), (theirs, torch.optim.AdamW)):
        work.optimiser = kind([{"params": list(work.model.parameters())}], lr=0.01)
    ours.optimiser.register_step_pre_hook(
        lambda optimiser, *rest: scaled.append(getattr(optimiser, "divisor", None) is not None)
    )
    found, expected = (list(loop.run(work))[-1] for work in (ours, theirs))
    assert any(scaled) is (dtype == torch.float32)  # in float64 a scale of 32 bits would lose half the digits
    assert not all(scaled)  # gradients below the limit stay as they are
    assert isinstance(found, Epoch)
    assert isinstance(expected, Epoch)
    assert found.grad_norm == pytest.approx(expected.grad_norm, rel=1e-4)
    torch.testing.assert_close(weights(ours.model), weights(theirs.model), rtol=1e-4, atol=1e-5)


def test_a_time_limit_counts_this_start_only(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = itertools.count()
    monkeypatch.setattr("time.perf_counter", lambda: float(next(ticks)))
    work = job(epochs=1, time_limit=40.0)
    work.cursor.seconds = 1000.0  # spent by earlier starts
    assert [record.epoch for record in loop.run(work) if isinstance(record, Epoch)] == [1]
    assert work.cursor.seconds > 1000
    late = job(epochs=1, time_limit=3.0)
    late.cursor.seconds = 1000.0
    assert not [record for record in loop.run(late) if isinstance(record, Epoch)]
    assert 1000 < late.cursor.seconds < 1010


def on_meta(**recipe: object) -> Job:
    """A training on a device whose numbers cannot be read: whoever waits for one fails."""
    x, y = data()
    meta = torch.device("meta")
    augment, mixing = (
        Augment(shift=1, crop=0.2, rotate=9, flip=True, erase=0.5),
        Mixing(mixup=0.8, cutmix=1.0),
    )
    train = Batches(x, y, augment=augment, mixing=mixing, seed=3, device=meta)
    model = build(ARCH, seed=0).to(meta)
    settings = Recipe(**{"epochs": 1, "batch": 16, "warmup": 2, **recipe})
    optimiser = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=True)
    return Job(model, classify, train, Batches(x[:20], y[:20], device=meta), settings, optimiser)


@pytest.mark.parametrize(("accumulate", "resident"), [(1, True), (3, False)])
def test_a_step_never_waits_for_the_device(
    accumulate: int, resident: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("vitruvius.training.memory.free_bytes", lambda where: 10**9 if resident else 1)
    work = on_meta(accumulate=accumulate)
    work.train = work.train.placed()
    assert (work.train.x.device.type == "meta") is resident
    for part in torch.arange(48).split(16):
        loop.step(work, part)
    assert [taken.step for taken in work.taken] == [1, 2, 3]
    with pytest.raises((RuntimeError, NotImplementedError)):  # now it is read
        loop._save(work)


def test_late_readings_name_the_step_and_save_nothing() -> None:
    """The numbers of four steps are read together, as from a GPU; the third is NaN."""
    work, saved = job(), []
    work.save = lambda job: saved.append(job.cursor.step)
    for step in range(1, 5):
        loss = math.nan if step == 3 else 1.0
        work.taken.append(loop.Taken(step, 16, torch.tensor([loss, 4.0]), torch.tensor(0.5)))
    with pytest.raises(WorkFailed, match=r"loss became nan in step 3 \(epoch 1\)"):
        loop._save(work)
    assert not saved


def test_the_numbers_are_read_every_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    assert loop.READ_EVERY == 50
    monkeypatch.setattr(loop, "READ_EVERY", 3)
    read: list[int] = []
    work = on_meta()
    work.train = Batches(work.train.x, work.train.y, device=work.train.device)
    monkeypatch.setattr(loop, "read_numbers", lambda job: read.append(job.cursor.step + 1))
    for _ in range(7):
        loop.step(work, torch.arange(16))
    assert read == [3, 6]


def test_the_random_numbers_of_a_step_depend_on_its_number_alone() -> None:
    work, seen, numbers = job(), list[int](), [0, 1, loop.SEEDS - 1, loop.SEEDS, 1]
    own = work.measure

    def measure(model: nn.Module, batch: Batch, generator: torch.Generator | None) -> Loss:
        assert generator is not None
        seen.append(generator.initial_seed())
        return own(model, batch, generator)

    work.measure = measure
    for work.cursor.step in numbers:
        loop.step(work, torch.arange(16))
    assert seen == [seeds.derive(work.recipe.seed, "step", number, 0) for number in numbers]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
def test_saving_memory_changes_no_bit(dropout: float) -> None:
    found = []
    for recomputes in (False, True):
        work = job(epochs=1)
        work.model = build(ARCH.model_copy(update={"dropout": dropout, "depth": 3}), seed=0).double()
        work.model.recomputes = recomputes
        work.optimiser = torch.optim.AdamW(work.model.parameters(), lr=0.01)
        torch.manual_seed(1)
        list(loop.run(work))
        found.append(weights(work.model))
    assert torch.equal(*found)


def test_saving_memory_computes_the_layers_again() -> None:
    work, calls = job(epochs=1), []
    work.model.recomputes = True  # type: ignore[assignment]
    layer = next(iter(work.model.layers))  # type: ignore[arg-type]
    layer.register_forward_pre_hook(lambda *rest: calls.append(1))
    loop.step(work, torch.arange(16))
    assert len(calls) == 2


def test_float16_leaves_a_step_out_whose_gradients_overflow() -> None:
    work = job(torch.float32, lr=0.1, warmup=0)
    work.autocast, work.scaler = torch.float16, torch.amp.GradScaler("cpu", init_scale=2.0**40)
    before = weights(work.model)
    loop.step(work, torch.arange(16))
    assert torch.equal(weights(work.model), before)
    assert work.scaler.get_scale() == 2.0**39
    work.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    loop.step(work, torch.arange(16))
    assert not torch.equal(weights(work.model), before)


def test_the_scale_of_float16_is_part_of_the_checkpoint(tmp_path: Path) -> None:
    first, second = job(torch.float32), job(torch.float32)
    first.scaler, second.scaler = (torch.amp.GradScaler("cpu", init_scale=scale) for scale in (8.0, 2.0))
    first.scaler.scale(torch.ones(1))
    checkpoint.write(tmp_path, first, {})
    checkpoint.read(tmp_path, second)
    assert second.scaler.state_dict() == first.scaler.state_dict()


def test_evaluation_computes_as_the_training_does() -> None:
    seen = []
    work = job(torch.float32)
    work.autocast, work.evaluation_batch = torch.bfloat16, 7

    def measure(model: nn.Module, batch: Batch, generator: torch.Generator | None) -> Loss:
        seen.append((len(batch.x), model(batch.x).dtype))
        return classify(model, batch, generator)

    work.measure = measure
    loop.evaluate(work, work.validation)
    assert seen == [(7, torch.bfloat16), (7, torch.bfloat16), (6, torch.bfloat16)]


def test_the_time_limit_counts_from_the_start_of_the_command() -> None:
    work = job(time_limit=1000.0)
    work.started -= 1000.0
    assert not [record for record in loop.run(work) if isinstance(record, Epoch)]
    assert work.cursor.step == 1


def test_out_of_time_in_the_last_step_of_an_epoch_leaves_its_evaluation_to_the_resume() -> None:
    whole, cut = job(epochs=1, batch=50), job(epochs=1, batch=50, time_limit=1e-9)
    (expected,) = [record for record in loop.run(whole) if isinstance(record, Epoch)]
    assert not [record for record in loop.run(cut) if isinstance(record, Epoch)]
    assert (cut.cursor.epoch, cut.cursor.position) == (0, 50)
    cut.optimiser.param_groups[0]["lr"] = 0.5  # as after a new start, in which no step sets it
    (found,) = [record for record in loop.run(cut) if isinstance(record, Epoch)]
    assert found.model_copy(update={"timing": expected.timing}) == expected


class Stream:
    """A stream of copies on a GPU, as far as `prefetch` knows it."""

    def __init__(self, *rest: object) -> None:
        self.waited: list[object] = []

    def wait_stream(self, other: object) -> None:
        self.waited.append(other)


def test_the_next_batch_is_copied_ahead_and_used_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device is called cuda; its copies are made by a stand-in, and its streams are."""
    x, y = data()
    computing, taken = Stream(), []

    def take(self: Batches, sample_B: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        taken.append(sample_B.tolist())
        return x[sample_B], y[sample_B]

    monkeypatch.setattr(torch.cuda, "current_stream", lambda device: computing)
    monkeypatch.setattr(torch.cuda, "Stream", Stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: nullcontext())
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda self, stream: None)
    monkeypatch.setattr(Batches, "_taken", take)
    monkeypatch.setattr(Batches, "normalised", lambda self, x: x)
    batches = Batches(x, y, device=torch.device("cuda"))
    assert batches.is_copied
    batches.prefetch([torch.arange(4), torch.arange(4, 8)])
    assert taken == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert len(computing.waited) == 1
    assert torch.equal(batches.batch(torch.arange(4)).x, x[:4])
    assert len(taken) == 2
    batches.batch(torch.arange(4))  # was not asked for ahead
    assert len(taken) == 3
    batches.prefetch([])
    assert not batches.ahead


def test_a_cpu_copies_nothing_ahead() -> None:
    batches = Batches(*data())
    assert not batches.is_copied
    assert batches.placed() is batches


@pytest.mark.parametrize("kind", ["bytes", "numbers", "no labels"])
def test_batches_that_are_prepared_together_have_the_bits_of_each_alone(kind: str) -> None:
    source = torch.Generator().manual_seed(0)
    x = torch.randint(0, 256, (50, 3, 9, 7), generator=source, dtype=torch.uint8)
    y = None if kind == "no labels" else torch.arange(50)
    given: dict[str, Any] = {"augment": Augment(shift=2, flip=True), "mean": torch.tensor(0.3)}
    if kind == "numbers":
        x, given = torch.randn(50, 11, generator=source), {}
    batches, parts = Batches(x, y, seed=5, **given), torch.split(torch.randperm(50, generator=source), 7)
    assert batches.may_prepare
    alone = [batches.batch(part, 3) for part in parts]
    batches.prepare(parts, 3)
    for left, (part, expected) in zip(range(8, 0, -1), zip(parts, alone, strict=True), strict=True):
        assert batches.has_prepared(3)
        assert len(batches.prepared) == left
        found = batches.batch(part, 3)
        assert torch.equal(found.x, expected.x)
        assert found.y is expected.y is None or torch.equal(found.y, expected.y)  # type: ignore[arg-type]
    assert not batches.has_prepared(3)


def test_prepared_batches_are_those_of_their_epoch_alone() -> None:
    x = torch.randint(0, 256, (20, 1, 9, 9), dtype=torch.uint8)
    batches, part = Batches(x, torch.arange(20), augment=Augment(shift=4)), torch.arange(20)
    expected = batches.batch(part, 1).x
    batches.prepare([part], 0)
    assert (batches.has_prepared(0), batches.has_prepared(1)) == (True, False)
    assert torch.equal(batches.batch(part, 1).x, expected)
    assert torch.equal(batches.batch(part).x, batches.normalised(x))
    assert not torch.equal(batches.batch(part, 0).x, expected)


def test_only_pixels_that_are_moved_are_prepared_together() -> None:
    x = torch.zeros(4, 3, 8, 8, dtype=torch.uint8)
    blending = (Augment(crop=0.1), Augment(rotate=5), Augment(randaugment=1.0), Augment(erase=0.1))
    for blends in blending:
        assert not Batches(x, None, augment=blends).may_prepare
    assert not Batches(x, None, mixing=Mixing(mixup=0.1)).may_prepare
    assert not Batches(x, None, device=torch.device("cuda")).may_prepare


@pytest.mark.parametrize("accumulate", [1, 3])
def test_preparing_steps_ahead_changes_no_bit_of_a_training(
    accumulate: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    own = Batches.prepare

    def counted(self: Batches, parts: Any, epoch: int) -> None:
        calls.append(len(parts))
        own(self, parts, epoch)

    monkeypatch.setattr(Batches, "prepare", counted)
    found = []
    for images in (32, 0):  # two steps of 16 images at once, or none
        work = short(epochs=2, accumulate=accumulate)
        monkeypatch.setattr(loop, "PREPARED", images * work.train.x[0].numel())
        list(loop.run(work))
        found.append(weights(work.model))
    assert torch.equal(*found)
    # 50 samples are three steps of 16 and one of 2.
    assert calls == [2 * accumulate, accumulate + min(2, accumulate)] * 2


def short(**recipe: object) -> Job:
    """A job whose recipe counts steps: 50 samples in batches of 16 are four steps an epoch."""
    work = job()
    work.recipe = ClassifierSettings(**{"batch": 16, "lr": 0.01, "warmup": 2, "clip": 0.0, **recipe})
    return work


@pytest.mark.parametrize("steps", [1, 4, 6, 8])
def test_a_training_ends_after_its_steps(steps: int) -> None:
    work = short(steps=steps, epochs=1)
    epochs = [record for record in loop.run(work) if isinstance(record, Epoch)]
    assert (work.cursor.step, work.cursor.epoch) == (steps, math.ceil(steps / 4)) == (steps, len(epochs))
    assert not list(loop.run(work))


@pytest.mark.parametrize("pauses", [(1,), (3, 4, 5), (4, 8), (10, 11, 12)])
def test_a_training_that_pauses_goes_on_as_if_it_had_not(pauses: tuple[int, ...]) -> None:
    whole, paused = (short(epochs=3, schedule="trapezoid") for _ in range(2))
    expected = [record for record in loop.run(whole) if isinstance(record, Epoch)]
    found = []
    for step in (*pauses, None):
        paused.pause_at = step
        found += [record for record in loop.run(paused) if isinstance(record, Epoch | Paused)]
    stops = [record for record in found if isinstance(record, Paused)]
    assert [stop.step for stop in stops] == [step for step in pauses if step < 12]  # the end is no pause
    assert torch.equal(weights(whole.model), weights(paused.model))
    untimed = [record.model_dump(exclude={"timing"}) for record in found if isinstance(record, Epoch)]
    assert untimed == [record.model_dump(exclude={"timing"}) for record in expected]


def test_a_pause_tells_the_accuracy_of_the_weights_at_that_step() -> None:
    work = short(epochs=3)
    work.pause_at = 5
    *_, stop = loop.run(work)
    assert isinstance(stop, Paused)
    assert (stop.val_loss, stop.val_accuracy) == loop.evaluate(work, work.validation)
    *_, again = loop.run(work)  # continued at its pause it tells the same
    assert again == stop
