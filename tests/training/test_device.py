"""Where and how a training computes: what 'auto' stands for."""

import pytest
import torch

from vitruvius.core.errors import UserError
from vitruvius.training import device


@pytest.mark.parametrize(
    ("choice", "macs", "cxx", "expected"),
    [
        ("auto", device.COMPILE_PAYS_AFTER, "g++", True),
        ("auto", device.COMPILE_PAYS_AFTER - 1, "g++", False),
        ("auto", device.COMPILE_PAYS_AFTER, None, False),
        ("on", 0, None, True),
        ("off", device.COMPILE_PAYS_AFTER, "g++", False),
    ],
)
def test_auto_compiles_where_it_pays_back_and_a_compiler_is_found(
    choice: str, macs: float, cxx: str | None, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "compiler", lambda: cxx)
    assert device.should_compile(choice, macs) is expected
    # Within a short time limit nothing is compiled unless that is asked for.
    assert device.should_compile(choice, macs, device.COMPILE_PAYS_WITHIN) is expected
    assert device.should_compile(choice, macs, 60.0) is (choice == "on")


def test_the_reference_run_is_compiled_and_a_short_one_is_not() -> None:
    from vitruvius.arch import cost, tables

    macs = cost.cost(tables.arch("mnist")).macs * 55_000
    assert macs < device.COMPILE_PAYS_AFTER < 10 * macs


def test_precision_follows_the_device_unless_given() -> None:
    assert device.choose_precision("auto", torch.device("cpu")) == "float32"
    assert device.choose_precision("float64", torch.device("cpu")) == "float64"


def test_a_missing_gpu_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(UserError, match="has no GPU"):
        device.choose_device("cuda")


def test_a_gpu_that_only_imitates_bfloat16_computes_with_float16(monkeypatch: pytest.MonkeyPatch) -> None:
    for native, expected in ((True, "bfloat16"), (False, "float16")):
        # An imitation counts as support unless it is excluded.
        monkeypatch.setattr(
            torch.cuda,
            "is_bf16_supported",
            lambda including_emulation=True, native=native: native or including_emulation,
        )
        assert device.choose_precision("auto", torch.device("cuda")) == expected
    assert device.choose_precision("float32", torch.device("cuda")) == "float32"


@pytest.mark.parametrize("name", ["auto", "cuda"])
def test_a_process_takes_the_gpu_of_its_rank(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen: list[int] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    monkeypatch.setattr(torch.cuda, "set_device", chosen.append)
    monkeypatch.setattr(torch, "set_float32_matmul_precision", lambda precision: None)
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert device.choose_device(name) == torch.device("cuda", 3)
    assert chosen == [3]
    monkeypatch.setenv("LOCAL_RANK", "4")
    with pytest.raises(UserError, match="process 5 of this machine has no GPU, there are 4"):
        device.choose_device(name)


def test_gpu_tensors_travel_by_nccl_and_cpu_tensors_by_gloo(monkeypatch: pytest.MonkeyPatch) -> None:
    from vitruvius.training import distributed

    assert distributed.backends() == "gloo"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert distributed.backends() == "cpu:gloo,cuda:nccl"


def test_a_device_that_promises_no_bits_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "bits" not in device.fingerprint(1, 1)
    assert device.fingerprint(1, 1)["device"] == "cpu"
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda where: "Example")
    found = device.fingerprint(1, 1, torch.device("cuda", 1))
    assert (found["device"], found["bits"]) == ("cuda (Example)", "not bit-identical on this device")


@pytest.mark.parametrize(
    ("preset", "batch", "work", "threads", "expected"),
    [
        ("mnist-slim", 32, 1e13, 2, 2),
        ("mnist-slim", 32, 1e13, 1, 1),
        ("mnist-slim", 32, 1e13, 64, 2),  # a share of 16 images is worth the update of all parameters
        ("mnist-slim", 48, 1e13, 64, 3),
        ("mnist-slim", 256, 1e13, 64, 4),
        ("mnist-slim", 16, 1e13, 64, 1),
        ("mnist-slim", 32, 1e11, 2, 1),
        ("mnist", 32, 1e13, 2, 1),
        ("mnist", 256, 1e13, 2, 2),
        ("vit_tiny_patch16_224", 1, 1e18, 2, 1),  # no image is shared
        ("vit_tiny_patch16_224", 8, 1e18, 2, 2),
        ("vit_tiny_patch16_224", 64, 1e18, 2, 1),
    ],
)
def test_processes_share_the_batches_of_long_trainings_unless_parameters_outweigh_images(
    preset: str, batch: int, work: int, threads: int, expected: int
) -> None:
    from vitruvius.arch import tables

    cpu, arch = torch.device("cpu"), tables.arch(preset)
    assert device.choose_workers(0, arch, batch, work, cpu, threads) == expected
    assert device.choose_workers(3, arch, batch, work, cpu, threads) == 3
    assert device.choose_workers(0, arch, batch, work, torch.device("cuda"), threads) == 1
    with pytest.raises(UserError, match="--workers 2: they share the cores of a CPU"):
        device.choose_workers(2, arch, batch, work, torch.device("cuda"), threads)
