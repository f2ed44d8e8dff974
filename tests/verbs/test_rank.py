"""Ranking: scores first, accuracies after; interrupted, resumed and repeated to the digit."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from vitruvius.arch import cost, tables
from vitruvius.arch.arch import Arch
from vitruvius.cli import main
from vitruvius.core import files, plugins, runs
from vitruvius.core.config import Flags
from vitruvius.core.errors import Interrupted, UserError
from vitruvius.core.records import Progress
from vitruvius.ranking import accuracies, report, session
from vitruvius.ranking.aggregates import AGGREGATES
from vitruvius.ranking.evaluation import Evaluation
from vitruvius.ranking.results import Result
from vitruvius.ranking.settings import Config
from vitruvius.verbs import rank

NETS = [
    {"name": f"d{depth}w{width}", "arch": {"patch": 4, "depth": depth, "width": width, "heads": 2, "mlp": 8}}
    for depth in (1, 2)
    for width in (4, 6, 8, 12, 16)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with a table of ten networks; pictures are left to the test that looks at them."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(report, "write", lambda folder, result: None)
    write(NETS, [0.5 + 0.01 * index for index in range(10)])
    return tmp_path


def write(nets: list[dict[str, Any]], accuracies: Sequence[float | None], **columns: Sequence[float]) -> None:
    rows = [{**net, "accuracy": accuracy} for net, accuracy in zip(nets, accuracies, strict=True)]
    for name, values in columns.items():
        rows = [{**row, name: value} for row, value in zip(rows, values, strict=True)]
    Path("nets.json").write_text(json.dumps(rows))


def config(**fields: Any) -> rank.Config:
    given = {"archs": ("nets.json",), "data": "noise:1x8x8", "batch": 4, "seeds": 2, **fields}
    return rank.Config(**given)


def ranked(flags: Flags = Flags(name="a"), **fields: Any) -> Result:
    *_, result = rank.run(config(**fields), flags)
    assert isinstance(result, Result)
    return result


def only(result: Result, proxy: str) -> Evaluation:
    """Return the evaluation of a score by the only column of accuracies."""
    return result.evaluation[""][proxy]


def reproducible(result: Result) -> dict[str, Any]:
    """What must not depend on when and where it was computed."""
    return result.model_dump(
        mode="json",
        exclude={"seconds": True, "cpu_seconds": True, "run": True, "config": {"spread", "workers"}},
    )


def lines(name: str = "a") -> list[dict[str, Any]]:
    return files.read_lines(Path("runs/rank") / name / "records.jsonl")


def test_the_result_has_networks_in_order_and_an_evaluation_per_score(folder: Path) -> None:
    result = ranked().model_dump(mode="json")
    assert {"archs", "evaluation", "seconds", "config"} <= result.keys()
    first = result["archs"][0]
    sizes = {"name", "params", "macs", "depth", "width", "peak_bytes", "predicted_ms", "arch"}
    assert first.keys() == sizes | {"scores", "rank", "accuracy"}
    assert first["scores"]["grad_norm"].keys() == {"mean", "std", "values", "failed"}
    assert first["peak_bytes"] == cost.cost(Arch(**first["arch"])).training_bytes(4)
    assert [row["rank"]["grad_norm"] for row in result["archs"]] == list(range(1, 11))
    assert list(result["evaluation"]) == [
        *("grad_norm", "grad_norm_layers", "snip", "params", "macs", "depth", "width_sum")
    ]
    found = result["evaluation"]["snip"]
    assert found["kendall"].keys() == found["spearman"].keys() == {"value", "low", "high"}
    assert found["kendall_within_size"].keys() == {"value", "low", "high", "pairs"}
    assert {"kendall_with_params", "seed_agreement", "regret_at_1", "regret_at_5", "verdict"} <= found.keys()
    assert result == json.loads(Path("runs/rank/a/result.json").read_text())
    assert set(result["best"]["snip"]) <= {net["name"] for net in NETS}


def test_accuracies_are_read_after_the_last_score_is_on_disk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_disk: list[int] = []
    read = tables.accuracies

    def watched(path: Path, column: str) -> list[float | None]:
        records = Path("runs/rank/a/records.jsonl")
        on_disk.append(len(files.read_lines(records)) if records.exists() else 0)
        return read(path, column)

    monkeypatch.setattr(tables, "accuracies", watched)
    ranked()
    assert on_disk == [20]

    prepare = session.prepare

    def leaking(config: Config) -> session.Prepared:
        tables.accuracies(Path("nets.json"), "accuracy")
        return prepare(config)

    monkeypatch.setattr(session, "prepare", leaking)  # the planted fault: a look before scoring is seen
    on_disk.clear()
    ranked(seed=5, flags=Flags(name="leak"))
    assert on_disk != [20]


def test_other_accuracies_change_no_score(folder: Path) -> None:
    before = ranked()
    write(NETS, [0.9 - 0.01 * index for index in range(10)])
    after = ranked(Flags(name="b"))
    assert [line["scores"] for line in lines("a")] == [line["scores"] for line in lines("b")]
    assert [row.rank for row in before.archs] == [row.rank for row in after.archs]
    first, second = (only(result, "params").kendall.value for result in (before, after))
    assert first is not None
    assert second == -first != 0


def test_rows_without_an_accuracy_are_scored_but_not_evaluated(folder: Path) -> None:
    write(NETS, [None, 0.6, 0.7, None, 0.8, 0.9, 0.5, 0.55, 0.65, 0.75])
    result = ranked()
    assert len(result.archs) == 10
    assert only(result, "snip").archs == 8
    write(NETS, [None] * 10)
    blank = ranked(Flags(name="b"))
    assert only(blank, "snip").verdict.startswith("not judged")


def test_several_columns_are_evaluated_each(folder: Path) -> None:
    write(
        NETS,
        [0.5] * 10,
        other_acc=[0.01 * index for index in range(10)],
        group=[1] * 10,
        top1=[0.1] * 9 + [0.2],
    )
    result = ranked()
    assert list(result.evaluation) == ["accuracy", "other_acc"]
    assert result.evaluation["accuracy"]["snip"].verdict.startswith("no signal")
    assert result.archs[0].accuracy == {
        "accuracy": 0.5,
        "other_acc": 0.01 * names().index(result.archs[0].name),
    }
    one = ranked(Flags(name="b"), accuracy="top1")
    assert only(one, "snip").archs == 10
    with pytest.raises(UserError, match="'top2': did you mean 'top1'"):
        ranked(Flags(name="c"), accuracy="top2")


def names() -> list[str]:
    return [str(net["name"]) for net in NETS]


@pytest.mark.parametrize(
    ("measured_on", "asked", "shown"),
    [
        ("noise:1x8x8/10", None, "accuracy on noise:1x8x8/10"),
        ("fashion_mnist", None, None),
        ({"accuracy": "fashion_mnist"}, None, None),
        ("fashion_mnist", "accuracy", "accuracy on fashion_mnist"),
        (None, None, "accuracy (data not named)"),
    ],
)
def test_accuracies_are_shown_for_the_data_they_were_measured_on(
    folder: Path, measured_on: Any, asked: str | None, shown: str | None
) -> None:
    rows = json.loads(Path("nets.json").read_text())
    Path("nets.json").write_text(json.dumps({"archs": rows, "data": measured_on}))
    result = ranked(accuracy=asked, proxies="params", seeds=1)
    assert all((row.accuracy[""] is None) == (shown is None) for row in result.archs)
    assert all((found.archs == 0) == (shown is None) for found in result.evaluation[""].values())
    assert result.measured_elsewhere == (("fashion_mnist",) if shown is None else ())
    assert shown is None or result.accuracy_name("") == shown


def test_the_fifty_are_judged_on_every_part_of_fashion_mnist() -> None:
    names = tuple(map(str, range(50)))
    for part, data in (("any", "fashion_mnist"), ("mini", "fashion_mnist (mini)")):
        found = accuracies.read(Config(data=f"fashion_mnist:{part}"), data, names)
        assert (found.measured_on, found.elsewhere) == ({"": "fashion_mnist"}, ())
    other = accuracies.read(Config(data="folder:mine"), "folder:mine@28", names)
    assert (other.columns[""], other.elsewhere) == ((None,) * 50, ("fashion_mnist",))


def test_a_column_without_values_is_left_out(folder: Path) -> None:
    write(NETS, [0.01 * index for index in range(10)], other_acc=[None] * 10)  # type: ignore[list-item]
    assert list(ranked(proxies="params", seeds=1).evaluation) == [""]


def test_processes_give_the_identical_table(folder: Path) -> None:
    assert reproducible(ranked()) == reproducible(ranked(Flags(name="b"), spread="processes", workers=2))
    here, apart = ([{**line, "timing": 0} for line in lines(name)] for name in "ab")
    assert here == apart


def interrupt(after: int) -> None:
    """Begin a run and let Ctrl-C arrive after some scores."""

    def begin() -> None:
        for record in rank.run(config(), Flags(name="a")):
            if isinstance(record, Progress) and record.done == after:
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match="--resume a goes on"):
        begin()


@pytest.mark.parametrize("flags", [Flags(name="a"), Flags(resume="a")], ids=["same name", "resume"])
def test_an_interrupted_run_goes_on_and_ends_as_if_nothing_had_happened(folder: Path, flags: Flags) -> None:
    whole = ranked(Flags(name="whole"))
    interrupt(after=7)
    assert len(lines()) == 7
    assert not Path("runs/rank/a/result.json").exists()
    kept = Path("runs/rank/a/records.jsonl").read_bytes()
    assert reproducible(ranked(flags)) == reproducible(whole)
    assert Path("runs/rank/a/records.jsonl").read_bytes().startswith(kept)
    assert [line["key"] for line in lines()] == [line["key"] for line in lines("whole")]


def test_a_score_that_was_lost_is_computed_again(folder: Path) -> None:
    whole = ranked()
    path = Path("runs/rank/a/records.jsonl")
    content = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(
        b"".join([*content[:4], *content[5:-1], content[-1][:40]])
    )  # one line gone, the last one torn
    Path("runs/rank/a/result.json").write_text("{}")
    assert reproducible(ranked()) == reproducible(whole)
    assert sorted(line["key"] for line in lines()) == sorted(json.loads(line)["key"] for line in content)


def test_a_finished_run_is_shown_again_without_torch(folder: Path) -> None:
    whole = ranked()
    given = {"archs": "nets.json", "data": "noise:1x8x8", "batch": 4, "seeds": 2, "name": "a"}
    words = ["rank", "--json", *(f"--{key}={value}" for key, value in given.items())]
    program = (
        "import sys\nfrom vitruvius.cli import main\n"
        f"code = main({words!r})\nassert 'torch' not in sys.modules\nsys.exit(code)"
    )
    home = {**os.environ, "PYTHONPATH": str(plugins.PACKAGE.parent)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=home
    )
    assert json.loads(done.stdout) == whole.model_dump(mode="json")


def test_a_run_is_finished_only_while_its_table_is_the_same(folder: Path) -> None:
    ranked()
    write(NETS[:8], [0.9 - 0.01 * index for index in range(8)])
    changed = ranked()
    assert len(changed.archs) == 8
    assert len(lines()) == 20


def test_another_command_with_the_same_name_is_refused_but_another_executor_is_not(folder: Path) -> None:
    interrupt(after=3)
    for fields in ({"batch": 8}, {"seeds": 3}, {"proxies": "snip"}):
        with pytest.raises(UserError, match=r"was made otherwise .*: choose another --name"):
            ranked(**fields)
    with pytest.raises(UserError, match="--resume a cannot change batch was 4, now 8"):
        ranked(Flags(resume="a"), batch=8)
    assert len(ranked(Flags(resume="a"), spread="processes", workers=2).archs) == 10


def test_a_bad_request_leaves_no_folder(folder: Path) -> None:
    bad = [
        ({"archs": "missing.json"}, "no such file"),
        ({"proxies": "snp"}, "did you mean 'snip'"),
        ({"data": "nois:1x8x8"}, "did you mean 'noise'"),
        ({"batch": 100_000}, "batch must be"),
        ({"batch": 5_000}, "batch 5000: noise:1x8x8/10 has 512 training images"),
        ({"archs": "mnist", "data": "mnist", "accuracy": "acc"}, "only a table of networks has columns"),
        (
            {"data": "noise:1x6x6"},
            "entry 1: patch 4 does not divide image 6: 3 and 6 do; noise:1x6x6/10 has images of 1x6x6",
        ),
    ]
    files.write_json(Path("odd.json"), {"archs": [{**NETS[0], "accuracy": 0.9}], "data": 3})
    files.write_json(Path("percent.json"), [{**NETS[0], "accuracy": 0.9}, {**NETS[1], "accuracy": 85.0}])
    huge = {"patch": 4, "depth": 64, "width": 2**17}
    files.write_json(Path("huge.json"), [NETS[0], {"name": "big", "arch": huge}])
    files.write_json(Path("ceiling.json"), {"archs": NETS[:3], "noise_ceiling": {"a": 1}})
    Path("mine.py").write_text("size = 3")
    bad += [
        ({"archs": "odd.json"}, "data: must be the name of a data set"),
        ({"archs": "percent.json"}, "entry 2: accuracy: 85.0 is not an accuracy (a fraction)"),
        ({"archs": "huge.json"}, "entry 2, big: a network of"),
        ({"archs": "ceiling.json"}, "ceiling.json: noise_ceiling: "),
        ({"proxies": "./mine.py:size"}, "size is no function but int"),
    ]
    for fields, message in bad:
        with pytest.raises(UserError) as caught:
            ranked(**fields)  # type: ignore[arg-type]
        assert message in str(caught.value)
    assert not Path("runs").exists()


def test_own_networks_are_judged_by_a_file_of_accuracies(folder: Path) -> None:
    Path("mine.py").write_text(MINE)
    known = {f"mlp {width}": 0.1 * width for width in (2, 4, 8)}
    fields: Any = {"archs": "./mine.py:models", "proxies": "snip", "accuracies": "known.json"}
    for content, data in ((known, None), ({"accuracies": known, "data": "mine"}, "mine")):
        files.write_json(Path("known.json"), content)
        result = ranked(Flags(name=f"with{data}"), **fields)
        assert only(result, "params").kendall.value == 1
        assert result.measured_on == {"": data}
        assert {row.name: row.accuracy[""] for row in result.archs} == known
        assert all((row.peak_bytes or 0) > 16 * (row.params or 0) for row in result.archs)
    bad: list[tuple[Any, str]] = [
        ({"mlp 3": 0.5}, "did you mean"),
        ({"mlp 2": 50}, "known.json: "),
        ([], "accuracies by network is needed"),
    ]
    for content, message in bad:
        files.write_json(Path("known.json"), content)
        with pytest.raises(UserError, match=message):
            ranked(Flags(name="bad"), **fields)
    files.write_json(Path("known.json"), known)
    with pytest.raises(UserError, match="leave one of both out"):
        ranked(Flags(name="bad"), accuracy="acc", **fields)


def test_a_ranking_in_which_everything_failed_exits_with_1(folder: Path, capsys: Any) -> None:
    Path("odd.py").write_text("from torch import nn\ndef models():\n    yield 'a', nn.Flatten()\n")
    words = ["--archs", "./odd.py:models", "--data", "noise:1x8x8", "--batch", "4", "--name", "odd"]
    assert main(["rank", *words]) == 1
    assert "no network has a score: everything failed, first with:" in capsys.readouterr().out


def test_az_nas_ranks_its_four_parts(folder: Path) -> None:
    result = ranked(proxies="az_nas", seeds=1)
    assert result.proxies[0] == "az_nas"
    assert set(AGGREGATES["az_nas"]) <= set(result.proxies)
    best = max(result.archs, key=lambda row: row.scores["az_nas"].mean or -99)
    assert best.rank["az_nas"] == 1


def test_a_device_that_is_not_there_is_refused(folder: Path) -> None:
    if not torch.cuda.is_available():
        with pytest.raises(UserError, match="--device cuda"):
            ranked(device="cuda")
    assert ranked(device="cpu", proxies="params", seeds=1).exit_code == 0


MINE = """
from torch import nn
def models():
    for width in (2, 4, 8):
        layers = nn.Flatten(), nn.Linear(64, width), nn.GELU(), nn.Linear(width, 10)
        yield f"mlp {width}", nn.Sequential(*layers)
def flaky(once):
    return float("nan") if once.x.shape and len(list(once.model.parameters())[1]) == 4 else once.seed + 1.0
"""


def test_own_networks_and_own_scores(folder: Path) -> None:
    Path("mine.py").write_text(MINE)
    result = ranked(archs="./mine.py:models", proxies="./mine.py:flaky,snip", seeds=3)
    assert [row.name for row in result.archs] == ["mlp 2", "mlp 8", "mlp 4"]
    assert [row.params for row in result.archs] == [160, 610, 310]
    last = result.archs[2]
    assert last.scores["./mine.py:flaky"].failed == "the score is nan"
    assert last.rank["./mine.py:flaky"] == 3
    assert result.best["./mine.py:flaky"] == ("mlp 2", "mlp 8")
    assert result.best["params"] == ("mlp 8",)


@pytest.fixture
def pictured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.usefixtures("pictures")
def test_the_run_folder_holds_what_people_look_at(pictured: Path) -> None:
    write(NETS, [0.5 + 0.01 * index for index in range(10)], **{"../odd acc": [0.3] * 10})
    ranked(seeds=1, batch=2)
    found = {path.name for path in Path("runs/rank/a").iterdir()}
    assert {
        "scores.csv",
        "result.json",
        "ranking.png",
        "ranking-_odd_acc.png",
        "report.html",
        "manifest.json",
    } <= found
    assert Path("runs/rank/a/ranking.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.slow
def test_ray_gives_the_identical_table(folder: Path) -> None:
    import ray

    try:
        assert reproducible(ranked()) == reproducible(ranked(Flags(name="b"), spread="ray", workers=2))
    finally:
        ray.shutdown()


def test_a_damaged_table_or_score_of_a_finished_ranking_is_made_again(tmp_path: Path) -> None:
    words = ["rank", "--archs", "mnist-slim,mnist", "--data", "noise:1x28x28", "--batch", "4", "--quiet"]
    words += ["--proxies", "params", "--name", "a", "--runs", str(tmp_path)]
    assert main(words) == 0
    folder = tmp_path / "rank" / "a"
    scores = (folder / "scores.csv").read_bytes()
    (folder / "scores.csv").write_bytes(scores[:-20])
    assert main(words) == 0
    assert (folder / "scores.csv").read_bytes() == scores
    records = folder / "records.jsonl"
    first = files.read_lines(records)[0]
    records.write_bytes(records.read_bytes().replace(b'"seed": 0', b'"seed": 7', 1) + b"null\n")
    assert main(words) == 0
    assert any(line["key"] == first["key"] and line["seed"] == 0 for line in files.read_lines(records))
    assert runs.check(folder) == []
