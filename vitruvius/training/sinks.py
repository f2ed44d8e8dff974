"""Where the numbers of each epoch go besides the run folder's own files: TensorBoard, or JSON lines.

A sink gets all epochs so far whenever one has ended and writes them anew, so that a run that was killed and
resumed shows every epoch once.
"""

import json
import struct
from collections.abc import Callable, Iterable, Iterator, Sequence

from vitruvius.core.errors import unknown
from vitruvius.core.records import Record
from vitruvius.core.runs import RunFolder
from vitruvius.training import distributed, results
from vitruvius.training.results import Epoch

Sink = Callable[[RunFolder, Sequence[Epoch]], None]
POLYNOMIAL = 0x82F63B78  # of CRC-32C, bits reversed
MASK_DELTA = 0xA282EAD8
TRACED = {
    "loss/train": "train_loss",
    "loss/validation": "val_loss",
    "accuracy/train": "train_accuracy",
    "accuracy/validation": "val_accuracy",
    "learning rate": "lr",
    "gradient norm": "grad_norm",
}
"""The curves of TensorBoard and the fields of an epoch that they show."""


def get(name: str) -> Sink:
    """Return the sink of that name."""
    if name not in SINKS:
        raise unknown("sink for --log", name, SINKS)
    return SINKS[name]


def copied(work: Iterator[Record], names: Sequence[str], folder: RunFolder) -> Iterator[Record]:
    """Pass the records of a training on; rank 0 writes its epochs to the sinks."""
    for record in work:
        if isinstance(record, Epoch) and distributed.rank() == 0:
            for name in names:
                get(name)(folder, results.epochs(folder.records()))
        yield record


def jsonl(folder: RunFolder, epochs: Sequence[Epoch]) -> None:
    """Write metrics.jsonl: one JSON object per epoch."""
    folder.write("metrics.jsonl", "".join(json.dumps(epoch.row()) + "\n" for epoch in epochs))


def tensorboard(folder: RunFolder, epochs: Sequence[Epoch]) -> None:
    """Write an event file that `tensorboard --logdir runs` shows."""
    # The name must hold "tfevents"; the time of an epoch is the training time up to it.
    events, seconds = [_record(_number(1, 0.0) + _text(3, b"brain.Event:2"))], 0.0
    for epoch in epochs:
        seconds += epoch.timing.seconds
        values = {tag: getattr(epoch, field) for tag, field in TRACED.items()}
        events.append(_record(event(epoch.epoch, seconds, values)))
    folder.write("events.out.tfevents.0.vitruvius", b"".join(events))


def event(step: int, seconds: float, values: dict[str, float | None]) -> bytes:
    """Return an Event message of TensorBoard: the values of one step; those that are None are left out."""
    known = {tag: value for tag, value in values.items() if value is not None}
    pairs = (_text(1, _text(1, tag.encode()) + _single(2, value)) for tag, value in known.items())
    return _number(1, seconds) + b"\x10" + _varint(step) + _text(5, b"".join(pairs))


def crc32c(data: bytes) -> int:
    """Return the CRC-32C checksum (Castagnoli).

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    value = 0xFFFFFFFF
    for byte in data:
        value = (value >> 8) ^ _TABLE[(value ^ byte) & 0xFF]
    return value ^ 0xFFFFFFFF


def _record(data: bytes) -> bytes:
    """Frame a message: its length and both checksums, as TensorBoard reads it."""
    length = struct.pack("<Q", len(data))
    return length + _masked(length) + data + _masked(data)


def _masked(data: bytes) -> bytes:
    value = crc32c(data)
    return struct.pack("<I", ((value >> 15 | value << 17) + MASK_DELTA) & 0xFFFFFFFF)


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _number(field: int, value: float) -> bytes:
    return _varint(field << 3 | 1) + struct.pack("<d", value)


def _single(field: int, value: float) -> bytes:
    return _varint(field << 3 | 5) + struct.pack("<f", value)


def _text(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _table() -> Iterable[int]:
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (POLYNOMIAL if byte & 1 else 0)
        yield byte


_TABLE = tuple(_table())
SINKS: dict[str, Sink] = {"jsonl": jsonl, "tensorboard": tensorboard}
