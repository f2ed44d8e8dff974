"""Kills a short pretraining at chosen moments, resumes it, and says whether the end is the same to the bit.

The harness is that of `killing.py`, with a grid of autoencoders in its place, or with `kills=4:vit` a
masked ViT. Run as `python -m tests.verbs.killing_pretrain`."""

import contextlib
import hashlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.verbs import killing
from vitruvius.core import files
from vitruvius.core.config import Flags
from vitruvius.pretraining import evaluate, report
from vitruvius.verbs import pretrain

VIT = ("patch=4", "width=8", "depth=1", "heads=2", "mlp=8", "head_dim=4", "dropout=0.1")


def config(kind: str) -> pretrain.Config:
    """A run with all that could break a resume: noise, masks, mid-epoch checkpoints, dropout, probes."""
    common: dict[str, Any] = {
        "data": killing.HERE,
        "epochs": 2,
        "batch": 16,
        "shift": 1,
        "checkpoint": 4,
        "threads": 1,
    }
    if kind == "vit":
        return pretrain.Config(model="vit", set=VIT, decoder_width=8, decoder_depth=1, probe="adam", **common)
    return pretrain.Config(model="mlp", hidden=(6,), latent=(2,), repeats=1, labels=10, **common)


def once(root: Path, compile: str) -> None:
    """Start or continue the run and go on to its end."""
    started = (root / "pretrain" / "toy" / "config.json").exists()
    flags = Flags(runs=str(root), resume="toy") if started else Flags(runs=str(root), name="toy")
    for _ in pretrain.run(pretrain.Config() if started else config(compile), flags):
        pass


def fingerprint(root: Path) -> str:
    """The SHA-256 of weights, records and result, timing aside."""
    folder = root / "pretrain" / "toy"
    records = [{**line, "timing": None} for line in files.read_lines(folder / "records.jsonl")]
    result = {**files.read_json(folder / "result.json"), "seconds": 0, "run": ""}
    content = json.dumps([files.sha256(folder / "model.safetensors"), records, result])
    return hashlib.sha256(content.encode()).hexdigest()


@contextlib.contextmanager
def marked() -> Iterator[None]:
    """The harness's phases, the measurement of the grid after an epoch being the evaluation."""
    measure = evaluate.measure_epoch

    def slowly(*arguments: Any) -> Any:
        before, killing.MARK[0] = killing.MARK[0], killing.PHASES.index("evaluation")
        time.sleep(0.003)
        try:
            return measure(*arguments)
        finally:
            killing.MARK[0] = before

    evaluate.measure_epoch = slowly  # type: ignore[assignment]
    with harness_marked():
        yield


harness_marked = killing.marked

if __name__ == "__main__":
    report.write = lambda *arguments: None  # takes most of the time and decides nothing
    killing.once, killing.fingerprint, killing.marked = once, fingerprint, marked
    killing.main()
