"""Documents are true: every command in them and in a verb's help runs, every file that they point to exists.

A command runs in a folder that holds what it names: files are made by their kind, a run is made by the
documented command that has its --name. What takes long is made small by rules for options, families and data
sets, never for a single command.
"""

import itertools
import re
import shlex
import shutil
import webbrowser
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from tests.undrawn import draw_nothing
from vitruvius import datasets
from vitruvius.cli import main
from vitruvius.core import files, plugins
from vitruvius.datasets import Dataset, Split
from vitruvius.exporting import results as exported
from vitruvius.measuring import calibrate
from vitruvius.proxies import STRUCTURAL
from vitruvius.teaching import key, publish
from vitruvius.web import server

ROOT = Path(__file__).parent.parent
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINE = re.compile(r"^(?:.*-m )?(vitruvius [a-z].*?)(?:\s{2,}#.*)?$", re.M)
INLINE = re.compile(r"`(vitruvius [a-z][^`]*)`")

LIMITS = {"epochs": 1, "steps": 20, "repeats": 1, "draws": 1, "seeds": 1, "batch": 16, "labels": 20}
LIMITS |= {"trainings": 2, "candidates": 200, "scored": 2}
LIMITS |= {"variants": 1}
"""The largest value that an option has here; where a command leaves it out, it gets this one."""
PLACEHOLDERS = {"LESSON": "attention", "IMAGE": "image.png", "PACKAGE:FACTORY": "package.models:build"}
PLACEHOLDERS |= {"PATH": "photos", "DATA": "fashion_mnist:mini"}
PICTURES = {"mnist": (1, 28, 28), "fashion_mnist": (1, 28, 28), "cifar": (3, 32, 32)}
"""Data sets of files: they are replaced by a few random pictures of the same shape."""
RUN_OF = {
    "predict": ("train",),
    "export": ("train",),
    "evaluate": ("train",),
    "measure": ("train",),
    "probe": ("pretrain", "train"),
    "--resume": ("train", "pretrain", "search"),
    "--init": ("train", "pretrain"),
    "--teacher": ("train",),
}
"""Which verbs make the runs that a verb or an option takes."""
NOT_RUNS = re.compile(r"raw|(pca|untrained):.*|.*\.(safetensors|json|png)|mnist.*")
TABLES = re.compile(r"fifty|.*\.json")

OWN_FILE = """
import torch
from torch import nn
from vitruvius.datasets import Dataset, Split
from vitruvius.objectives import Loss

def data(*, data_dir=None, validation=None, seed=0):
    part = Split(torch.randint(256, (40, 3, 32, 32), dtype=torch.uint8), torch.arange(40) % 2)
    return Dataset("own", part, part, part, ("oak", "elm"), (0.5,) * 3, (0.5,) * 3)

class Grey(nn.Module):
    def forward(self, x):
        return x.mean(1, keepdim=True)

def archs():
    for width in (4, 8):
        layers = nn.Linear(16, width), nn.GELU(), nn.Linear(width, 10)
        yield f"mlp{width}", nn.Sequential(Grey(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), *layers)

def proxies(once):
    return float(sum(weight.numel() for weight in once.model.parameters()))

def objective(model, batch, generator):
    error_B = (model(batch.x) - batch.x).abs().flatten(1).sum(1)
    return Loss(error_B.mean())

def optimiser(groups, lr):
    return torch.optim.SGD(groups, lr=lr)

def factory():
    x, y = torch.randn(8, 4), torch.tensor([0, 1] * 4)
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)), nn.CrossEntropyLoss(), (x, y)
"""
"""Functions named after the option that takes them; `factory` is what `doctor model` takes."""
OWN_OPTIONS = ("--data", "--archs", "--proxies", "--objective", "--optimiser")
SCRIPT = """
import torch
from torch import nn

torch.manual_seed(0)
x_BD = torch.randn(64, 4)
y_B = (x_BD.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 2))
optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2)
for step in range(20):
    rows = torch.randperm(64)[:16]
    optimiser.zero_grad()
    nn.functional.cross_entropy(model(x_BD[rows]), y_B[rows]).backward()
    optimiser.step()
"""


@cache
def commands() -> tuple[str, ...]:
    """Every command in the documents and in the verbs' help; `test_coursework` runs those of its table."""
    found = []
    for path in DOCUMENTS:
        lines = [line for line in path.read_text().splitlines() if not line.startswith("| ")]
        text = "\n".join(lines) if path.name == "coursework.md" else path.read_text()
        found += LINE.findall(text) + INLINE.findall(text)
    groups = [
        f"verbs/{path.name}"
        for path in (plugins.PACKAGE / "verbs").iterdir()
        if (path / "__init__.py").exists()
    ]
    for verb in (member for family in ("verbs", *groups) for member in plugins.members(family).values()):
        found += plugins.examples(verb.path)
    return tuple(sorted(set(found)))


def split(command: str) -> tuple[list[str], list[str]]:
    """The words that name the verb (`train`, or `doctor run`) and the words that it is given."""
    words = [word.removesuffix("...") for word in shlex.split(command)[1:]]
    words = [PLACEHOLDERS.get(word, word) for word in words if word not in ("", "…")]
    length = 2 if (plugins.PACKAGE / "verbs" / words[0]).is_dir() else 1
    return words[:length], words[length:]


def values(words: list[str], option: str) -> list[str]:
    """What an option is given: the words up to the next option, at commas too.

    >>> values(["--latent", "5,20", "8", "--epochs", "3"], "--latent")
    ['5', '20', '8']
    """
    found: list[str] = []
    current = ""
    for word in words:
        current = word if word.startswith("--") else current
        if current == option and word != option:
            found += word.split(",")
    return found


def run_names(command: str) -> list[tuple[str, str]]:
    """The runs that a command takes, each with the verb or option that takes it."""
    verb, words = split(command)
    options = ("--resume", "--init", "--teacher")
    found = [(word, option) for option in options for word in values(words, option)]
    taken = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
    if verb[0] in RUN_OF:
        found += [(word, verb[0]) for word in taken[: None if verb == ["measure"] else 1]]
    return [(Path(name).name, taker) for name, taker in found if not NOT_RUNS.fullmatch(name)]


def maker(name: str, taker: str) -> str:
    """The documented command that makes a run; RUN is one that another command gives to this taker."""
    if name == "RUN":
        name = next(
            other for command in commands() for other, t in run_names(command) if t == taker and other != name
        )
    for command in commands():
        verb, words = split(command)
        if verb[0] in RUN_OF[taker] and name in values(words, "--name"):
            return command
    raise AssertionError(f"no documented command of {' or '.join(RUN_OF[taker])} makes the run {name!r}")


def small(command: str) -> list[str]:
    """The command with numbers within LIMITS, a small table of networks, and a run in place of RUN."""
    verb, words = split(command)
    config = plugins.module("/".join(["verbs", *verb[:-1]]), verb[-1]).Config
    fields, named = config.model_fields, values(words, "--name")
    for name, taker in run_names(command):
        made = values(split(maker(name, taker))[1], "--name")[0]
        words = [made if word == name else word for word in words]
    words = ["small.json" if verb == ["measure"] and TABLES.fullmatch(word) else word for word in words]
    limits = {name: limit for name, limit in LIMITS.items() if name in fields and verb != ["export"]}
    if "epochs" in fields and "--steps" not in words:  # one epoch has fewer steps than the limit
        limits.pop("steps", None)
    for index, word in enumerate(words[:-1]):
        name, value = word.removeprefix("--"), words[index + 1]
        if word.startswith("--") and name in limits and value.isdigit():
            words[index + 1] = str(min(int(value), limits[name]))
        if word == "--archs" and TABLES.fullmatch(value):
            words[index + 1] = "small.json"
    if "--resume" in words:  # what a run was made with may not change
        return [*verb, *words]
    added = [] if "archs" not in fields or "--archs" in words else ["--archs", "small.json"]
    if named and any(command > other and named == values(split(other)[1], "--name") for other in commands()):
        words[words.index("--name") + 1] += "2"  # another command makes the run of this name
    elif (
        not named and "name" in config.takes
    ):  # else named by the second in which it begins, as others may be
        added += ["--name", f"unnamed{len(list(Path('runs').glob('*/*')))}"]
    if verb == ["train"] and not {"--set", "--init"} & set(words):  # a shallow network is exported sooner
        added += ["--set", "depth=1"]
    if verb == ["export"] and "--out" not in words:  # several commands export the same run
        added += ["--out", f"export{len(list(Path().glob('export*')))}"]
    if verb == ["teach", "sheet"]:  # a folder that holds a key is not written to again
        words[words.index("--out") + 1] = f"sheets{len(list(Path().glob('sheets*')))}"
    for name, limit in limits.items():
        added += [] if f"--{name}" in words else [f"--{name}", str(limit)]
    if verb == ["measure"]:  # last, because --batch takes all words that follow it
        return [*verb, *words, *added]
    # First, because what follows a script is the script's.
    return [*verb, *added, *words]


class Workshop:
    """A folder in which each command runs once, after the commands that make what it takes."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        fifty = files.read_json(plugins.PACKAGE / "arch" / "fifty.json")
        archs = [row for row in fifty["archs"] if row["arch"]["patch"] == 4][:4]  # 4 divides 28 and 32
        archs = [{**row, "c100_kd_acc": 0.5 + 0.1 * index} for index, row in enumerate(archs)]
        archs[-1]["half_acc"] = 0.5  # known of one network alone
        files.write_json(Path("small.json"), {**fifty, "archs": archs})

    def run(self, command: str) -> int:
        """The exit code of a command in its small form."""
        if command not in self.codes:
            for name, taker in run_names(command):
                assert self.run(maker(name, taker)) == 0
            words = small(command)
            for option, word in zip(["", *words], words, strict=False):
                _make(word, option)
            with pytest.MonkeyPatch.context() as patch:
                if {"all", "--all"} & set(words):  # of a whole family three members are enough
                    patch.setattr(plugins, "members", first_three)
                self.codes[command] = main(words)
        return self.codes[command]


def first_three(family: str, real: Any = plugins.members) -> dict[str, plugins.Member]:
    """The members of a family; of lessons three, of proxies three and the counts that `rank` adds to any."""
    found = real(family)
    if family not in ("proxies", "lessons"):
        return found
    first = set(itertools.islice(found, 3))
    return {name: one for name, one in found.items() if name in first or name in STRUCTURAL}


def _make(word: str, option: str) -> None:
    """Make the file or folder that a word of a command names."""
    random = np.random.default_rng(0)
    for part in word.split(","):
        path, _, name = part.partition(":")
        if path.endswith((".png", ".jpg")):
            Image.fromarray(random.integers(256, size=(28, 28), dtype=np.uint8)).save(path)
        elif path == "folder" or re.fullmatch(r"photos(@\d+)?", path):
            for index in range(24):
                folder = Path((name or path).partition("@")[0], ("oak", "elm")[index % 2])
                folder.mkdir(parents=True, exist_ok=True)
                Image.fromarray(random.integers(256, size=(32, 32, 3), dtype=np.uint8)).save(
                    folder / f"{index}.png"
                )
        elif option == "--accuracies":
            files.write_json(Path(path), {"mlp4": 0.4, "mlp8": 0.5})
        elif option == "--check" and path.endswith(".json"):
            Path(path).write_text('{"scores": [4, 7, 8]}')
        elif path.endswith("key.json"):
            made, solved = key.make(("sentence_graph",), 1, 0)
            list(publish.write(Path(path).parent, "html", made, solved))
            Path("handed_in").mkdir(exist_ok=True)
            shutil.copy(Path(path).with_name("sheets") / "variant-01.json", "handed_in")
        elif path.endswith(".py") and not name:
            Path(path).write_text(SCRIPT)
        elif option == "model" and not path.endswith(".py"):
            module = Path(path.replace(".", "/")).with_suffix(".py")
            module.parent.mkdir(parents=True, exist_ok=True)
            module.write_text(f"{OWN_FILE}\n{name} = factory\n")
        elif path.endswith(".py"):
            kind = option.removeprefix("--") if option in OWN_OPTIONS else "factory"
            before = Path(path).read_text() if Path(path).exists() else OWN_FILE
            Path(path).write_text(f"{before}\n{name} = {kind}\n")


def few(name: str, real: Any = datasets.get, **options: Any) -> Dataset:
    """A data set with few samples; pictures that would be read or downloaded are random."""
    member = name.partition(":")[0]
    if member not in PICTURES:
        data = real(name, **options)
        parts = (
            Split(part.x[:60], None if part.y is None else part.y[:60])
            for part in (data.train, data.validation, data.test)
        )
        train, validation, test = parts
        return Dataset(
            data.name, train, validation, test, data.classes, data.mean, data.std, data.source, data.sha256
        )
    shape = PICTURES[member]
    random = torch.Generator().manual_seed(options.get("seed", 0))
    part = Split(torch.randint(256, (60, *shape), dtype=torch.uint8, generator=random), torch.arange(60) % 10)
    middle = (0.5,) * shape[0]
    return Dataset(member, part, part, part, tuple("0123456789"), middle, middle, "random", "")


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("workshop"))
        patch.setattr(datasets, "get", few)
        patch.setattr(calibrate, "NETWORKS", 3)
        patch.setattr(exported, "LARGEST_LOSS", 1.0)  # on random pictures a rounded score changes the class
        patch.setattr(server, "wait", lambda: None)  # a site is served until Ctrl-C
        patch.setattr(webbrowser, "open", lambda address: True)
        draw_nothing(patch)
        yield Workshop()


@pytest.mark.parametrize("command", commands())
def test_every_documented_command_runs(command: str, workshop: Workshop) -> None:
    assert workshop.run(command) == 0


def test_a_command_that_is_refused_would_be_noticed(
    workshop: Workshop, capsys: pytest.CaptureFixture[str]
) -> None:
    assert workshop.run("vitruvius train --epoch 3") == 2
    assert "did you mean '--epochs'" in capsys.readouterr().err
    with pytest.raises(AssertionError, match="no documented command of train makes the run 'nobody'"):
        workshop.run("vitruvius predict nobody image.png")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_links_point_to_files(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        if "://" not in target:
            assert (path.parent / target).exists(), f"{path.name} points to {target}"


def test_every_verb_is_in_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    for name in plugins.members("verbs"):
        assert f"vitruvius {name}" in text, name


def unnamed_files(picture: str) -> list[str]:
    """The files of rooms with one subject that a description of the package does not name.

    In a family, such as `checks`, the folder itself lists its members.
    """
    families = {"kernels", "datasets", "objectives", "optimisers", "proxies", "checks", "lessons", "verbs"}
    rooms = [path for path in plugins.PACKAGE.iterdir() if path.is_dir() and path.name not in families]
    files = [path for room in rooms for path in room.glob("*.py") if not path.stem.startswith("_")]
    parts = dict(re.findall(r"^  (\w+)/ (.*?)(?=^  \w|^```)", picture, re.M | re.S))
    named = {room: set(re.findall(r"\w+", text)) for room, text in parts.items()}
    return [f"{path.parent.name}/{path.name}" for path in files if path.stem not in named[path.parent.name]]


def test_the_architecture_names_every_file() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    assert unnamed_files(text) == []
    assert unnamed_files(text.replace("pca, latent_size", "pca")) == ["pretraining/latent_size.py"]
