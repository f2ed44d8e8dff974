"""The Python API: a verb is a function, its options are keywords, a result shows itself."""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import vitruvius
from vitruvius.core.errors import UserError, VitruviusError
from vitruvius.core.records import Progress, Result

TINY = {
    "set": ["depth=1", "width=16", "heads=2", "mlp=16"],
    "batch": 8,
    "epochs": 1,
    "warmup": 1,
    "threads": 1,
}
SLICE = """
import dataclasses
from vitruvius import datasets

def few(data_dir=None, validation=None, seed=0):
    data = datasets.get("mnist")
    cut = lambda part: dataclasses.replace(part, x=part.x[:64], y=part.y[:64])
    parts = {name: cut(getattr(data, name)) for name in ("train", "validation", "test")}
    return dataclasses.replace(data, name="mnist (slice)", **parts)
"""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, Any]]:
    """A tiny training by the API: its Result and the flags that find its run."""
    folder = tmp_path_factory.mktemp("api")
    (folder / "few.py").write_text(SLICE)
    where = {"runs": str(folder / "runs")}
    return vitruvius.train(data=f"{folder / 'few.py'}:few", name="tiny", **TINY, **where), where


def test_import_is_light() -> None:
    program = (
        "import sys, vitruvius; sys.exit(any(name in sys.modules for name in ('torch', 'numpy', 'pydantic')))"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_every_public_name_is_there() -> None:
    assert dir(vitruvius) == sorted(vitruvius.__all__)
    for name in vitruvius.__all__:
        assert callable(getattr(vitruvius, name))
        assert getattr(vitruvius, name).__doc__
    with pytest.raises(AttributeError, match="trian"):
        vitruvius.trian  # noqa: B018


def test_train_returns_its_result(trained: tuple[Any, dict[str, Any]]) -> None:
    result, where = trained
    assert isinstance(result, Result)
    assert (Path(where["runs"]) / "train/tiny/result.json").is_file()
    with pytest.raises(UserError, match="--resume tiny cannot change lr"):
        vitruvius.train(resume="tiny", lr=0.5, **where)


def test_predict_takes_the_run_and_the_images_in_order(
    trained: tuple[Any, dict[str, Any]], tmp_path: Path
) -> None:
    from PIL import Image

    for name in ("a", "b"):
        Image.new("L", (28, 28), 200).save(tmp_path / f"{name}.png")
    images = [str(tmp_path / "a.png"), str(tmp_path / "b.png")]
    result: Any = vitruvius.predict("tiny", *images, top=2, **trained[1])
    assert [prediction.image for prediction in result.predictions] == images
    html = result._repr_html_()
    assert "<table>" in html
    assert images[0] in html


def test_what_watch_found_shows_itself_in_a_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from torch import nn

    monkeypatch.setattr("vitruvius.core.records.Result.html", None)
    with vitruvius.watch() as report:
        net = nn.Linear(2, 1)
        optimiser = torch.optim.SGD(net.parameters(), lr=0.01)
        for _ in range(6):
            net(torch.ones(3, 2)).square().mean().backward()
            optimiser.step()
    html = report._repr_html_() or ""
    assert html == report.result._repr_html_()
    assert "zero_grad" in html


def test_rank_and_probe_return_their_results(
    trained: tuple[Any, dict[str, Any]],
) -> None:
    where = trained[1]
    ranked: Any = vitruvius.rank(
        archs=["mnist-slim"], proxies="snip", data="noise:1x28x28", batch=2, seeds=1, **where
    )
    assert [network.name for network in ranked.archs] == ["mnist-slim"]
    data = str(Path(where["runs"]).parent / "few.py:few")
    probed: Any = vitruvius.probe("raw", data=data, labels=20, draws=1, **where)
    assert probed.labels == 20


def test_explain_takes_the_fields_of_the_question() -> None:
    worked: Any = vitruvius.explain("attention_cost", tokens=17, heads=3)
    assert (worked.question["tokens"], worked.question["heads"]) == (17, 3)
    half: Any = vitruvius.explain("sentence_graph")
    assert half.exit_code == 0
    with pytest.raises(UserError, match="tokens needs a whole number"):
        vitruvius.explain("attention_cost", tokens=Fraction(1, 2))
    with pytest.raises(UserError, match="did you mean 'tokens'"):
        vitruvius.explain("attention_cost", token=17)


def test_stream_yields_records_as_they_come() -> None:
    records = list(vitruvius.stream("list", "presets"))
    assert isinstance(records[-1], Result)
    assert not any(isinstance(record, Progress) for record in records)


@pytest.mark.parametrize(
    ("verb", "positionals", "options", "message"),
    [
        ("trian", (), {}, "no verb 'trian': did you mean 'train'?"),
        ("train", (), {"epoch": 1}, "no field in Config 'epoch': did you mean 'epochs'?"),
        ("train", (), {"epochs": "ten"}, "epochs needs a whole number, got 'ten'"),
        ("train", (), {"name": 3}, "name must be a valid string, got 3"),
        ("train", (), {"walk": True}, "no field in Config 'walk'"),
        ("list", ("a", "b", "c"), {}, "'c' is one argument too many"),
    ],
)
def test_bad_input_is_raised_at_the_call(
    verb: str, positionals: tuple[str, ...], options: dict[str, Any], message: str
) -> None:
    with pytest.raises(VitruviusError) as caught:
        vitruvius.stream(verb, *positionals, **options)
    assert message in str(caught.value)
