"""Choose, train and understand Vision Transformers, before you spend the GPU hours.

Every command is a function: `vitruvius.train(epochs=1, data="mnist")` takes the options that
`vitruvius train --help` lists as keywords and returns a `Result`, which shows itself in a notebook.
`vitruvius.stream("train", epochs=1)` yields the records while the work goes on.
What the command line prints as an error is raised as a `vitruvius.core.errors.VitruviusError`.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vitruvius.arch.arch import Arch
    from vitruvius.arch.cost import cost
    from vitruvius.core.records import Record, Result
    from vitruvius.doctor.diagnose import watch
    from vitruvius.nn.vit import ViT

__all__ = [
    "Arch",
    "ViT",
    "check",
    "cost",
    "data",
    "evaluate",
    "explain",
    "export",
    "measure",
    "predict",
    "pretrain",
    "probe",
    "rank",
    "search",
    "serve",
    "stream",
    "train",
    "watch",
]

_MODULES = {"Arch": "arch.arch", "ViT": "nn.vit", "cost": "arch.cost", "watch": "doctor.diagnose"}


def train(**options: Any) -> "Result":
    """Train a Vision Transformer: `train(epochs=1, set=["depth=2"], name="small")`."""
    return _result("train", **options)


def rank(**options: Any) -> "Result":
    """Rank Vision Transformers without training them: `rank(archs=["mnist", "mnist-slim"], data="mnist")`."""
    return _result("rank", **options)


def search(**options: Any) -> "Result":
    """Search the best network within a budget: `search(data="mnist", max_params=100_000, trainings=20)`."""
    return _result("search", **options)


def pretrain(**options: Any) -> "Result":
    """Pretrain without labels: `pretrain(data="mnist", model="vit", epochs=20)`."""
    return _result("pretrain", **options)


def data(data: str, **options: Any) -> "Result":
    """Show what a data set holds: `data("photos")`."""
    return _result("data", data, **options)


def probe(source: str, **options: Any) -> "Result":
    """Probe features with a simple classifier: `probe("raw")`, `probe("pca:50", labels=200)`."""
    return _result("probe", source, **options)


def predict(run: str, *images: str, **options: Any) -> "Result":
    """Classify images with a trained run: `predict("small", "digit.png", overlay=True)`."""
    return _result("predict", run, *images, **options)


def evaluate(run: str, data: str = "", **options: Any) -> "Result":
    """Evaluate a trained run on other data: `evaluate("small", "photos")`."""
    return _result("evaluate", run, data, **options)


def export(run: str, **options: Any) -> "Result":
    """Write a trained run for other programs: `export("small", format="onnx", out="small-onnx")`."""
    return _result("export", run, **options)


def measure(*networks: str, **options: Any) -> "Result":
    """Measure what networks cost on this machine: `measure("mnist", "mnist-slim", batch=[1, 32])`."""
    return _result("measure", *networks, **options)


@contextmanager
def serve(**options: Any) -> Iterator[str]:
    """Serve the pages while the context lasts: `with serve(runs="runs", port=0) as address: ...`."""
    import warnings
    from pathlib import Path

    from vitruvius.core import arguments
    from vitruvius.verbs.serve import Config
    from vitruvius.web import server

    config, flags = arguments.from_call(Config, (), options)
    assert isinstance(config, Config)
    listener = server.open_port(config.host, config.port)
    with server.serving(listener, config.host, Path(flags.runs)) as door:
        if not door.is_local:
            warnings.warn(door.warning, stacklevel=3)
        yield door.address


def explain(lesson: str, **question: Any) -> "Result":
    """Work a lesson with your own numbers and prove the result: `explain("attention_cost", tokens=17)`."""
    return _result("explain", lesson, set=_settings(question))


def check(lesson: str, answers: dict[str, Any], hint: int = 0, **question: Any) -> "Result":
    """Check values that you worked out: `check("attention", {"scores": [2, 5, 5]}, hint=1)`."""
    import json

    written = json.dumps(answers, default=_plain)
    return _result("explain", lesson, check=written, hint=hint, set=_settings(question))


def stream(verb: str, *positionals: str, **options: Any) -> "Iterator[Record]":
    """Run a verb (`"train"`, `"doctor run"`) and yield its records; the last one is its Result.

    Options are the fields of the verb's Config and the Flags that it takes (`name`, `runs`, `resume`, ...).
    Of several processes that train together only rank 0 yields a Result.
    """
    from vitruvius.core import arguments, plugins

    _show_in_notebooks()
    folder, _, name = f"verbs/{verb.replace(' ', '/')}".rpartition("/")
    module: Any = plugins.module(folder, name)
    return module.run(*arguments.from_call(module.Config, positionals, options))


def _show_in_notebooks() -> None:
    """Tell results how they are rendered."""
    from vitruvius.core.records import Result
    from vitruvius.render import page

    Result.html = staticmethod(page.fragment)


def _plain(value: Any) -> Any:
    """An array, a tensor or a fraction as JSON holds it."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _settings(question: dict[str, Any]) -> list[str]:
    import json

    return [f"{key}={json.dumps(value, default=_plain)}" for key, value in question.items()]


def _result(verb: str, *positionals: str, **options: Any) -> Any:
    """Run a verb to its end and return its Result; None on other ranks than 0."""
    last = deque(stream(verb, *positionals, **options), maxlen=1)
    return last[0] if last and last[0].is_data else None


def __getattr__(name: str) -> Any:
    """Import what needs torch or pydantic when it is first used, so that `import vitruvius` is light."""
    if name not in _MODULES:
        raise AttributeError(f"module 'vitruvius' has no attribute '{name}'")
    from importlib import import_module

    if name == "watch":
        _show_in_notebooks()
    return getattr(import_module(f"vitruvius.{_MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
