"""The processes of a training: one, or several that torchrun or `start` has started.

With one process each function is a no-op.

Every process holds the whole model and computes its share of each batch. After the backward pass the
gradients of all processes are summed by one all-reduce, which also carries the loss and the requests to stop.
CPU tensors travel by gloo and GPU tensors by NCCL; processes of `start` share memory instead. A process that
dies ends the others with a message.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TypeVar

import torch
from torch import Tensor, distributed

from vitruvius.core.errors import UserError, WorkFailed
from vitruvius.training import liveness, number_sums, shared_gradients
from vitruvius.training.number_sums import NumberSums
from vitruvius.training.shared_gradients import SharedGradients

T = TypeVar("T")
LOCAL = "127.0.0.1"
ALONE = "--workers 1 trains in one process"
OWN_GROUP = "VITRUVIUS_GROUP"
"""The environment variable that tells a process of `start` its port, rank, number of processes and folder."""


class Shared(NamedTuple):
    """What the processes of `start` share: memory for gradients, and sockets for a few numbers, if any."""

    gradients: SharedGradients
    sums: NumberSums | None


_shared: list[Shared] = []  # of the group that this process is in, if it is one of `start`


@contextmanager
def init() -> Iterator[None]:
    """Join the process group for which this process was started, if any, and leave it at the end."""
    if OWN_GROUP in os.environ:
        *numbers, folder = os.environ[OWN_GROUP].split(maxsplit=3)
        port, rank, processes = map(int, numbers)
        store = distributed.TCPStore(LOCAL, port, is_master=False)  # type: ignore[attr-defined]
        store.set(_ready(rank), "")
        with group(store, rank, processes), _sharing(folder, rank, processes):
            yield
        return
    if "TORCHELASTIC_RUN_ID" not in os.environ and "LOCAL_RANK" not in os.environ:
        yield
        return
    if missing := [
        name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ
    ]:
        cure = "start several processes with torchrun, or unset LOCAL_RANK for one"
        raise UserError(f"LOCAL_RANK is set but {missing[0]} is not: {cure}")
    with group():
        yield


@contextmanager
def start(processes: int, command: Sequence[str]) -> Iterator[None]:
    """Be rank 0 of so many processes on this machine; the others are started with the command.

    Does nothing for one process, and where torchrun has started the processes.
    """
    if processes == 1 or world_size() > 1:
        yield
        return
    try:
        store = distributed.TCPStore(  # type: ignore[attr-defined]
            LOCAL, 0, is_master=True, wait_for_workers=False
        )
    except RuntimeError as error:
        raise UserError(f"processes cannot talk to one another here: {error}; {ALONE}") from error
    with TemporaryDirectory(dir=shared_gradients.parent()) as folder, _loopback():
        workers = [
            _worker(command, f"{store.port} {rank} {processes} {folder}", Path(folder) / str(rank))
            for rank in range(1, processes)
        ]
        try:
            _wait_until_ready(store, workers)
            with group(store, 0, processes), _sharing(folder, 0, processes):
                yield
        except liveness.ProcessLost as error:
            raise liveness.ProcessLost("; ".join([str(error), *_last_words(workers)])) from error
        finally:
            for worker in workers:
                _end(worker.process)


@contextmanager
def _sharing(folder: str, rank: int, processes: int) -> Iterator[None]:
    """Let `reduce_gradients` use what the processes of this group share."""
    with number_sums.connected(Path(folder), rank, processes, all_reduce_sum) as sums:
        _shared.append(Shared(SharedGradients(Path(folder), rank, processes), sums))
        try:
            yield
        finally:
            _shared.clear()


@contextmanager
def _loopback() -> Iterator[None]:
    """Let gloo listen on this machine only: it would listen where the name of the machine points to."""
    name = "GLOO_SOCKET_IFNAME"
    if sys.platform != "linux" or name in os.environ:
        yield
        return
    os.environ[name] = "lo"
    try:
        yield
    finally:
        del os.environ[name]


class Worker(NamedTuple):
    """A process that `start` has started, and the file to which its messages go."""

    process: "subprocess.Popen[bytes]"
    messages: Path


def _worker(command: Sequence[str], group: str, messages: Path) -> Worker:
    # In a session of its own: Ctrl-C reaches rank 0 only, which asks the others to stop in the same step.
    with messages.open("wb") as stream:
        process = subprocess.Popen(  # nosec B603 # our own command line, without a shell
            command,
            env={**os.environ, OWN_GROUP: group, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stream,
            start_new_session=True,
        )
    return Worker(process, messages)


def _wait_until_ready(store: Any, workers: Sequence[Worker]) -> None:
    """Wait until every worker has started; a group would wait for one that has died for half an hour."""
    for rank, worker in enumerate(workers, 1):
        while not store.check([_ready(rank)]):
            if worker.process.poll() is not None:
                why = "; ".join(_last_words(workers))
                raise UserError(f"process {rank} of this training could not start: {why}; {ALONE}")
            time.sleep(0.05)


def _ready(rank: int) -> str:
    return f"ready {rank}"


def _last_words(workers: Sequence[Worker]) -> Iterator[str]:
    """Yield how each worker that has ended did so: its last message, or its exit code."""
    for rank, worker in enumerate(workers, 1):
        with suppress(subprocess.TimeoutExpired):
            code = worker.process.wait(1.0)
            lines = worker.messages.read_text(errors="replace").strip().splitlines()
            how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
            said = f": {lines[-1]}" if lines and code > 0 else ""
            yield f"process {rank} {how}{said}"


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Let a worker leave by itself, as it does after its last step or a loss; end it if it does not."""
    try:
        process.wait(2 * liveness.PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def group(store: Any = None, rank: int = -1, world_size: int = -1) -> Iterator[None]:
    """Form the process group, found by the environment unless a store is given; watch its processes."""
    # One that could not be formed stays counted: the next would have another name here than in the others,
    # and all would wait for ever.
    distributed.distributed_c10d._world.group_count = 0
    try:
        distributed.init_process_group(backends(), store=store, rank=rank, world_size=world_size)
    except (RuntimeError, ValueError) as error:  # ValueError: a port or a rank that is none
        raise WorkFailed(f"the processes of this training do not find one another: {error}") from error
    try:
        host = LOCAL if store is not None else os.environ["MASTER_ADDR"]
        with liveness.watch(distributed.get_rank(), distributed.get_world_size(), host, broadcast_string):
            yield
    finally:
        distributed.destroy_process_group()


def backends() -> str:
    """Return the backend of each kind of tensor: gloo on CPUs and, where there are GPUs, NCCL on those."""
    return "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"


def rank() -> int:
    """Return the rank of this process; rank 0 writes the files."""
    return distributed.get_rank() if distributed.is_initialized() else 0


def world_size() -> int:
    """Return the number of processes that train together."""
    return distributed.get_world_size() if distributed.is_initialized() else 1


def share(sample_B: Tensor) -> tuple[Tensor, bool]:
    """Return the samples of this process and whether they count.

    A process for which none is left computes the first one, which does not count: every process then takes
    part in every all-reduce, with gradients for the same parameters.
    """
    if world_size() == 1:
        return sample_B, True
    mine = sample_B[rank() :: world_size()]
    return (mine, True) if len(mine) else (sample_B[:1], False)


class Sums(NamedTuple):
    """Sums over all processes: of a few numbers, and of all gradients in one tensor if there are several."""

    numbers: Tensor
    gradients: Tensor | None = None


def reduce_gradients(parameters: Sequence[Tensor], numbers: Tensor) -> Sums:
    """Sum the gradients and the numbers over all processes by one all-reduce.

    The gradients of the parameters become parts of the one tensor that is returned.
    """
    if world_size() == 1:
        return Sums(numbers)
    trained = [parameter for parameter in parameters if parameter.grad is not None]
    gradients = [parameter.grad for parameter in trained if parameter.grad is not None]
    lengths, first = [gradient.numel() for gradient in gradients], gradients[0]
    shared = _shared[0] if _shared and first.device.type == "cpu" else None
    if shared is not None and shared.gradients.prepare(first, sum(lengths), all_reduce_sum):
        shared.gradients.write(gradients)
        summed = all_reduce_sum(numbers) if shared.sums is None else _collective(shared.sums.total, numbers)
        flat = shared.gradients.total()
    else:
        whole = torch.cat([*(gradient.flatten() for gradient in gradients), numbers.to(first.dtype)])
        flat, summed = all_reduce_sum(whole).tensor_split([sum(lengths)])
    for parameter, part in zip(trained, torch.split(flat, lengths), strict=True):
        parameter.grad = part.view_as(parameter)
    return Sums(summed, flat)


def all_reduce_sum(values: Tensor) -> Tensor:
    """Sum a tensor over all processes, in place."""
    if world_size() > 1:
        _collective(distributed.all_reduce, values)
    return values


def all_gather(value: Tensor) -> list[Tensor]:
    """Return the tensors of all processes, in order of rank."""
    if world_size() == 1:
        return [value]
    found = [torch.empty_like(value) for _ in range(world_size())]
    _collective(distributed.all_gather, found, value)
    return found


def broadcast_string(text: str) -> str:
    """Broadcast a string from rank 0; an empty one means that rank 0 failed."""
    if world_size() == 1:
        return text
    content = torch.tensor(list(text.encode()), dtype=torch.uint8)
    length = torch.tensor([len(content)])
    _collective(distributed.broadcast, length, 0)
    if rank() > 0:
        content = torch.empty(int(length), dtype=torch.uint8)
    _collective(distributed.broadcast, content, 0)
    return bytes(content.tolist()).decode()


def _collective(work: Callable[..., T], *args: Any) -> T:
    """Communicate with the other processes; if one is gone, say so."""
    try:
        return work(*args)
    except (RuntimeError, ConnectionError) as error:
        raise liveness.ProcessLost(liveness.message(liveness.lost(), world_size())) from error
