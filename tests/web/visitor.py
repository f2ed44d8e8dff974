"""A visitor of a served site, and run folders to be shown, made of a few files each."""

import hashlib
import http.client
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image
from safetensors.torch import save_file

from vitruvius.arch.arch import Arch
from vitruvius.checks import Finding
from vitruvius.core import files
from vitruvius.core.runs import RunFolder
from vitruvius.doctor.results import Quoted
from vitruvius.doctor.results import Result as Diagnosis
from vitruvius.nn import vit
from vitruvius.pretraining.results import Point, Points, RepeatSummary
from vitruvius.pretraining.results import Result as Pretrained
from vitruvius.ranking.evaluation import Evaluation, Interval
from vitruvius.ranking.results import Candidate, MeanScore
from vitruvius.ranking.results import Result as Ranked
from vitruvius.ranking.settings import Config as RankConfig
from vitruvius.searching.plan import Plan
from vitruvius.searching.results import Network, Spent
from vitruvius.searching.results import Result as Searched
from vitruvius.searching.results import Trained as Found
from vitruvius.searching.settings import Config as SearchConfig
from vitruvius.training.results import Epoch, Timing
from vitruvius.training.results import Result as Trained
from vitruvius.web.security import Door

ARCH = Arch(image=8, patch=4, width=8, depth=1, heads=2, mlp=8, classes=2)
HOSTILE = "<img src=x onerror=alert(1)>"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(frozen=True)
class Visitor:
    """A browser without a window: it has the cookie, unless it is told otherwise."""

    door: Door
    runs: Path
    cookie: bool = True
    headers: dict[str, str] = field(default_factory=lambda: {"Accept": "text/html"})

    def ask(self, path: str, method: str = "GET", body: Any = None, **headers: str) -> Answer:
        """Ask for a path; a header is written with underscores."""
        connection = http.client.HTTPConnection("127.0.0.1", self.door.port, timeout=60)
        sent = self.headers | {name.replace("_", "-"): value for name, value in headers.items()}
        if self.cookie:
            sent.setdefault("Cookie", f"{self.door.cookie}={self.door.token}")
        try:
            connection.request(method, path, body, sent)
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, found, answer.read())
        finally:
            connection.close()


def identity(verb: str, name: str) -> str:
    """The id of a run, as its address has it."""
    return hashlib.sha256(f"{verb}/{name}".encode()).hexdigest()[:16]


def epoch(number: int) -> Epoch:
    """One epoch of a training."""
    losses = {"train_loss": 1 / number, "val_loss": 1.1 / number, "lr": 0.1, "grad_norm": 1.0}
    accuracies = {"train_accuracy": 0.1 * number, "val_accuracy": 0.09 * number}
    return Epoch(epoch=number, **losses, **accuracies, timing=Timing(seconds=2.0, images_per_second=9.0))


def training(runs: Path, name: str, accuracy: float | None = 0.75, **config: Any) -> Path:
    """A training of three epochs; without an accuracy it has not ended."""
    folder = RunFolder(_made(runs / "train" / name), True)
    files.write_json(folder.path("config.json"), {"data": "noise:1x8x8", "epochs": 3, "lr": 0.1, **config})
    for number in (1, 2, 3) if accuracy is not None else (1,):
        folder.keep(epoch(number))
    if accuracy is None:
        return folder.folder
    fields = {"test_loss": 1.0, "test_images": 4, "val_accuracy": 0.27, "best_epoch": 3, "epochs": 3}
    sizes = {"seconds": 6.0, "images_per_second": 9.0, "params": 99, "seed": 0, "compile": "off"}
    folder.keep(Trained(test_accuracy=accuracy, run=str(folder.folder), data="noise", **fields, **sizes))
    score = {"loss": 1.0, "accuracy": accuracy, "confusion": [[2, 0], [1, 1]]}
    readings = [{"epochs": 3, "weights": "", "score": score}]
    files.write_json(folder.path("test.json"), {"readings": readings})
    about = {"arch": ARCH.model_dump(mode="json"), "classes": ["cat", HOSTILE], "mean": [0.5], "std": [0.5]}
    files.write_json(folder.path("model.json"), about)
    save_file(dict(vit.build(ARCH, 0).state_dict()), folder.path("model.safetensors"))
    folder.seal({})
    return folder.folder


def ranking(runs: Path, name: str) -> Path:
    """A ranking of three networks by two scores."""
    folder = RunFolder(_made(runs / "rank" / name), True)
    files.write_json(folder.path("config.json"), {"data": "noise:1x8x8"})
    values = {"tiny": (1.0, 30.0), "mid": (2.0, 10.0), HOSTILE: (3.0, 20.0)}
    archs = tuple(
        Candidate(
            name=network,
            params=int(100 * snip),
            macs=1,
            depth=1,
            width=8,
            scores={"snip": MeanScore(mean=snip, std=0.0), "zico": MeanScore(mean=zico, std=0.0)},
            rank={"snip": int(4 - snip), "zico": int(4 - zico / 10)},
            accuracy={"": None},
        )
        for network, (snip, zico) in values.items()
    )
    found = Evaluation(
        kendall_with_params=1.0, kendall_with_depth=None, seed_agreement=None, verdict="not judged", archs=0
    )
    best = {"snip": (HOSTILE,), "zico": ("tiny",)}
    evaluation = {"": {"snip": found, "zico": found}}
    facts = {"noise_ceiling": None, "data": "noise", "seconds": 1.0, "run": str(folder.folder)}
    folder.keep(Ranked(archs=archs, evaluation=evaluation, best=best, **facts, config=RankConfig()))
    return folder.folder


def diagnosis(runs: Path, name: str) -> Path:
    """A diagnosis with one bug."""
    folder = RunFolder(_made(runs / "doctor" / name), True)
    files.write_json(folder.path("config.json"), {"script": "train.py"})
    where = "train.py:7"
    bug = {"bug": "zero_grad", "severity": "error", "confidence": "exact", "where": where}
    finding = Finding(**bug, evidence="gradients add up", why=HOSTILE, fix="call zero_grad()")
    folder.keep(Quoted(where=where, source="       6 | loss.backward()\n  >    7 | optimiser.step()"))
    folder.keep(Diagnosis(findings=(finding,), checked=("zero_grad",), steps=20, seconds=1.0))
    return folder.folder


def search(runs: Path, name: str) -> Path:
    """A search among two networks."""
    folder = RunFolder(_made(runs / "search" / name), True)
    files.write_json(folder.path("config.json"), {"data": "noise:1x8x8", "epochs": 2})
    interval = Interval(value=0.5, low=0.25, high=0.75)
    sizes = {"arch": ARCH, "params": 99, "macs": 999, "full": (0.5, 0.5), "interval": interval}
    networks = tuple(Network(name=f"net-{number}", number=number, **sizes) for number in (0, 1))
    folder.keep(Found(network="net-0", steps=8, accuracy=0.5))
    facts = {"test_images": 4, "validation_images": 4, "gains": (), "order": "", "drawn": 9, "fitting": 9}
    names = {"space": "small", "data": "noise", "seed": 0, "run": "runs/train/first", "search": "here"}
    result = Searched(
        winner=networks[0],
        test_accuracy=interval,
        spent=Spent(trainings=2.0, networks=2, seconds=1.0),
        plan=Plan(trainings=2, steps=8, rungs=(), finalists=2, baselines=0),
        front=("net-0",),
        front_price="params",
        networks=networks,
        config=SearchConfig(),
        **facts,
        **names,
    )
    folder.keep(result)
    return folder.folder


def pretraining(runs: Path, name: str) -> Path:
    """A pretraining of two epochs, with a picture of its reconstructions."""
    folder = RunFolder(_made(runs / "pretrain" / name), True)
    files.write_json(folder.path("config.json"), {"data": "noise:1x8x8", "epochs": 2})
    kind = {"objective": "denoise", "latent": 2, "val_loss": 1.0, "accuracy": 0.5}
    point = Point(**kind, repeat=0, train_losses=(2.0, 1.0))
    for number in (0, 1, 2):
        folder.keep(Points(epoch=number, points=(point,)))
    ranges = {"val_loss_range": (1.0, 1.0), "accuracy_before": 0.25, "accuracy_range": (0.5, 0.5)}
    facts = {"features": 64, "variance": 64.0, "loss": "squared error", "probe": "logistic regression"}
    where = {"data": "noise", "run": str(folder.folder), "seed": 0, "inexact": False}
    outcomes = (RepeatSummary(**kind, **ranges),)
    folder.keep(Pretrained(outcomes=outcomes, certificates=(), epochs=2, seconds=1.0, **facts, **where))
    Image.new("L", (64, 32), 128).save(folder.path("reconstructions-denoise.png"))
    return folder.folder


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def events(text: str) -> list[tuple[str, Any]]:
    """The events of a stream: name and content."""
    found = []
    for event in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in event.splitlines() if not line.startswith(":"))
        if fields:
            found.append((fields["event"], json.loads(fields["data"])))
    return found
