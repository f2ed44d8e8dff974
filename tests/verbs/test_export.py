"""Every export of a finished run is written, read back and judged; what cannot be is refused whole."""

import base64
import hashlib
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image

import vitruvius
from vitruvius import datasets
from vitruvius.arch import tables
from vitruvius.arch.arch import Arch
from vitruvius.cli import main
from vitruvius.core import files
from vitruvius.core.errors import UserError
from vitruvius.exporting import onnx_file, verify, weights
from vitruvius.exporting.settings import ExportSettings
from vitruvius.training import predictor
from vitruvius.web import page
from vitruvius.web import weights as viewer_weights

TOY = f"{Path(__file__).parent / 'killing.py'}:toy"
SMALL = ("patch=4", "width=8", "depth=2", "heads=2", "mlp=8", "head_dim=4", "dropout=0.1", "qkv_bias=true")
RECIPE = ("--batch", "16", "--lr", "0.01", "--warmup", "3", "--shift", "0", "--threads", "1")


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run that tells bright left halves from bright right ones."""
    root = tmp_path_factory.mktemp("export")
    words = ["--data", TOY, "--set", *SMALL, "--epochs", "20", *RECIPE]
    assert main(["train", *words, "--name", "halves", "--runs", str(root), "--quiet"]) == 0
    return root


def export(root: Path, out: Path, *words: str) -> int:
    return main(["export", "halves", "--runs", str(root), "--out", str(out), "--json", "--quiet", *words])


@pytest.mark.parametrize("precision", ["float32", "float16"])
@pytest.mark.parametrize("format", ["transformers", "timm", "safetensors", "torch"])
def test_every_format_is_written_read_back_and_run(
    root: Path, tmp_path: Path, format: str, precision: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "deep" / "model"
    assert export(root, out, "--format", format, "--precision", precision) == 0
    result = json.loads(capsys.readouterr().out)
    manifest = files.read_json(out / "manifest.json")
    assert manifest["files"] == files.folder_hashes(out, skip=["manifest.json"])
    assert manifest["verification"] == result["verification"]
    assert {file["name"]: file["sha256"] for file in result["files"]} == manifest["files"]
    found = result["verification"]
    assert (found["images"], found["split"], found["accuracy_before"]) == (20, "test", 1.0)
    assert found["largest_difference"] <= (0 if precision == "float32" else 0.05)
    assert (found["largest_difference"] > 0) == (precision == "float16")
    assert [path.name for path in out.parent.iterdir()] == ["model"]


@pytest.mark.parametrize("format", ["transformers", "timm"])
def test_training_starts_from_what_was_exported(
    root: Path, tmp_path: Path, format: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mirror: network, normalisation and scores are the exported ones."""
    assert export(root, tmp_path / "model", "--format", format) == 0
    words = ["--data", TOY, "--init", str(tmp_path / "model"), "--epochs", "1", *RECIPE, "--lr", "1e-12"]
    assert main(["train", *words, "--name", "again", "--runs", str(tmp_path)]) == 0
    assert "mean and standard deviation of the pixels are those of the checkpoint" in capsys.readouterr().err
    before, after = (
        predictor.load(folder / "train" / name) for folder, name in ((root, "halves"), (tmp_path, "again"))
    )
    x = torch.randn(4, 1, 8, 8)
    torch.testing.assert_close(after.net(x), before.net(x), rtol=1e-4, atol=1e-4)
    assert torch.equal(after.mean, before.mean)
    assert files.read_json(tmp_path / "train" / "again" / "config.json")["arch"] == str(tmp_path / "model")
    words += ["--set", "classes=5", "image=8"]
    assert main(["train", *words, "--name", "five", "--runs", str(tmp_path)]) == 0
    assert "it tells 2 classes apart, this network 5" in capsys.readouterr().err


def test_another_normalisation_is_taken_from_the_checkpoint(root: Path, tmp_path: Path) -> None:
    assert export(root, tmp_path / "model", "--format", "timm") == 0
    config = files.read_json(tmp_path / "model" / "config.json")
    config["pretrained_cfg"] |= {"mean": [0.25], "std": [0.125]}
    files.write_json(tmp_path / "model" / "config.json", config)
    words = ["--data", TOY, "--init", str(tmp_path / "model"), "--epochs", "1", *RECIPE, "--quiet"]
    assert main(["train", *words, "--name", "again", "--runs", str(tmp_path)]) == 0
    about = files.read_json(tmp_path / "train" / "again" / "model.json")
    assert (about["mean"], about["std"]) == ([0.25], [0.125])


def test_onnx_in_one_file_with_names_and_preprocessing(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert export(root, tmp_path / "model") == 0
    result = json.loads(capsys.readouterr().out)
    assert sorted(path.name for path in (tmp_path / "model").iterdir()) == [
        "README.md",
        "manifest.json",
        "model.onnx",
    ]
    assert 0 <= result["verification"]["largest_difference"] < 1e-5
    session = onnx_file.open_session(tmp_path / "model" / "model.onnx")
    assert [(value.name, value.shape) for value in session.get_inputs()] == [("image", ["batch", 1, 8, 8])]
    assert [value.name for value in session.get_outputs()] == ["logits"]
    about = {key: json.loads(value) for key, value in session.get_modelmeta().custom_metadata_map.items()}
    model = predictor.load(root / "train" / "halves")
    assert about["classes"] == list(model.classes)
    assert about["preprocessing"]["size"] == [1, 8, 8]
    assert about["preprocessing"]["mean"] == pytest.approx(model.mean.flatten().tolist())
    for images in (1, 7):
        x = torch.randn(images, 1, 8, 8)
        (scores,) = session.run(None, {"image": x.numpy()})
        torch.testing.assert_close(torch.from_numpy(scores), model.net(x), rtol=1e-5, atol=1e-5)


def test_int8_is_calibrated_and_judged_by_its_accuracy(
    root: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    import onnx

    assert export(root, tmp_path / "model", "--precision", "int8", "--batch", "3") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["verification"]["largest_difference"] > 0
    assert (result["batch"], result["verification"]["batch"]) == (3, 3)
    graph = onnx.load(tmp_path / "model" / "model.onnx").graph
    int8 = [
        weight for weight in graph.initializer if weight.data_type == onnx.TensorProto.INT8 and weight.dims
    ]
    assert (
        len([weight for weight in int8 if len(weight.dims) == 2]) >= 2 * 4
    )  # qkv, out and MLP of two layers


@pytest.mark.parametrize(
    ("precision", "message"), [("float32", "scores differ by up to"), ("float16", "accuracy falls by")]
)
def test_a_written_model_that_differs_is_said_and_fails(
    root: Path, tmp_path: Path, precision: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def turned(folder: Path, settings: Any, read: Any = weights.read) -> Any:
        net = read(folder, settings)
        return lambda x: -net(x)

    from vitruvius.exporting import write

    planted = write.FORMATS["safetensors"]._replace(read=turned)
    monkeypatch.setitem(write.FORMATS, "safetensors", planted)
    assert export(root, tmp_path / "model", "--format", "safetensors", "--precision", precision) == 1
    assert message in json.loads(capsys.readouterr().out)["failures"][0]
    assert message in files.read_json(tmp_path / "model" / "manifest.json")["failures"][0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--format", "onx"], "format must be 'onnx'"),
        (["--format", "timm", "--precision", "int8"], "--precision int8: timm does not have it here"),
        (["--format", "timm", "--batch", "3"], "--batch 3: timm holds weights"),
        (["--batch", "0"], "batch"),
    ],
)
def test_impossible_wishes_are_refused(
    root: Path, tmp_path: Path, words: list[str], message: str, capsys: Any
) -> None:
    assert export(root, tmp_path / "model", *words) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_folder_that_exists_is_refused(root: Path, tmp_path: Path, capsys: Any) -> None:
    assert export(root, tmp_path, "--format", "timm") == 2
    assert "it exists; choose a new folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_damaged_or_unfinished_run_is_refused(root: Path, tmp_path: Path, capsys: Any) -> None:
    run = tmp_path / "runs" / "train" / "halves"
    shutil.copytree(root / "train" / "halves", run)
    content = bytearray((run / "model.safetensors").read_bytes())
    content[-1] ^= 1
    (run / "model.safetensors").write_bytes(content)
    assert export(tmp_path / "runs", tmp_path / "model", "--format", "timm") == 2
    assert "its SHA-256 is not the one in manifest.json" in capsys.readouterr().err
    shutil.copy(root / "train" / "halves" / "model.safetensors", run)
    for name in ("manifest.json", "model.safetensors"):
        (run / name).unlink()
        assert export(tmp_path / "runs", tmp_path / "model", "--format", "timm") == 2
        assert f"has no {name}; is the run finished?" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()


def test_no_onnx_installed_names_the_extra(root: Path, tmp_path: Path, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert export(root, tmp_path / "model") == 2
    assert "needs the package onnxruntime: pip install 'vitruvius[export]'" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_nothing_is_left_of_an_export_that_breaks(
    root: Path, tmp_path: Path, monkeypatch: Any, capsys: Any
) -> None:
    def broken(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(verify, "compare", broken)
    assert export(root, tmp_path / "exports" / "model", "--format", "timm") == 1
    assert "no space left on device; nothing is left of it" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_from_python(root: Path, tmp_path: Path) -> None:
    result: Any = vitruvius.export("halves", runs=str(root), out=str(tmp_path / "model"), format="timm")
    assert result.exit_code == 0
    assert result.verification.accuracy_after == 1.0


@pytest.mark.slow
def test_transformers_loads_the_folder_and_gives_the_same_scores(root: Path, tmp_path: Path) -> None:
    from transformers import ViTForImageClassification

    assert export(root, tmp_path / "model", "--format", "transformers") == 0
    theirs, info = ViTForImageClassification.from_pretrained(tmp_path / "model", output_loading_info=True)
    assert not any(info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    model = predictor.load(root / "train" / "halves")
    x = torch.randn(4, 1, 8, 8)
    torch.testing.assert_close(theirs.eval()(x).logits, model.net(x), rtol=1e-5, atol=1e-5)
    assert list(theirs.config.id2label.values()) == list(model.classes)


@pytest.fixture(scope="module")
def stripes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with runs on wide pictures, one for each way in which they become squares."""
    root = tmp_path_factory.mktemp("stripes")
    for name, colour in (("red", (250, 20, 10)), ("blue", (10, 20, 250))):
        (root / "pictures" / name).mkdir(parents=True)
        for number in range(12):
            picture = Image.linear_gradient("L").resize((60, 36)).convert("RGB")
            picture = Image.blend(picture, Image.new("RGB", (60, 36), colour), 0.05 + 0.05 * number)
            picture.save(root / "pictures" / name / f"{number}.png")
    words = ["--set", "patch=4", "width=8", "depth=1", "heads=2", "mlp=8", "--epochs", "1", "--threads", "1"]
    for fit in ("crop", "pad", "squash"):
        data = ["--data", f"folder:{root / 'pictures'}@16", "--fit", fit, "--name", fit]
        assert main(["train", *data, *words, "--runs", str(root), "--quiet"]) == 0
    return root


def test_pictures_are_prepared_as_the_run_does_or_the_card_says_what_differs(
    stripes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {}
    for fit in ("crop", "pad", "squash"):
        for format in ("transformers", "timm"):
            out = tmp_path / f"{fit}-{format}"
            words = ["--format", format, "--out", str(out), "--runs", str(stripes), "--json", "--quiet"]
            assert main(["export", fit, *words]) == 0
            found[fit, format] = (out / "README.md").read_text()
            said = json.loads(capsys.readouterr().out)["notes"]
            assert any("pictures" in note or "bars" in note for note in said) == (fit == "pad")
    crop, squash = (files.read_json(tmp_path / f"{fit}-timm" / "config.json") for fit in ("crop", "squash"))
    assert crop["pretrained_cfg"]["crop_mode"] == "center"
    assert squash["pretrained_cfg"]["crop_mode"] == "squash"
    assert "stretches pictures instead: pad them before it." in found["pad", "transformers"]
    assert "fills the bars with the mean colour, not with black." in found["pad", "timm"]
    assert "by cropping the centre.\n" in found["crop", "transformers"]


@pytest.mark.slow
@pytest.mark.parametrize("fit", ["crop", "squash"])
def test_transformers_prepares_a_wide_picture_as_the_run_does(
    fit: str, stripes: Path, tmp_path: Path
) -> None:
    from transformers import AutoImageProcessor

    words = ["--format", "transformers", "--out", str(tmp_path / "model"), "--runs", str(stripes)]
    assert main(["export", fit, *words, "--quiet"]) == 0
    # Sides whose ratio is whole: a crop before and after resizing is the same up to a few grey levels.
    picture = Image.radial_gradient("L").resize((64, 32)).convert("RGB")
    picture.save(tmp_path / "wide.png")
    model = predictor.load(stripes / "train" / fit)
    pixels = torch.from_numpy(datasets.read_image(tmp_path / "wide.png", 16, model.fit)).float() / 255
    expected = (pixels - model.mean) / model.std
    processor = AutoImageProcessor.from_pretrained(tmp_path / "model")
    given = processor(picture, return_tensors="pt")["pixel_values"]
    grey_levels = ((given - expected) * model.std * 255).abs()
    assert given.shape == (1, 3, 16, 16)
    assert float(grey_levels.max()) < 6
    other = torch.from_numpy(
        datasets.read_image(tmp_path / "wide.png", 16, "squash" if fit == "crop" else "crop")
    )
    assert float((other.float() - pixels * 255).abs().max()) > 20  # the other way would be noticed


@pytest.mark.parametrize("precision", ["float32", "float16"])
def test_a_page_holds_the_network(
    root: Path, tmp_path: Path, precision: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "deep" / "halves.html"
    assert export(root, out, "--format", "page", "--precision", precision) == 0
    result = json.loads(capsys.readouterr().out)
    found = result["verification"]
    assert (found["images"], found["accuracy_after"]) == (20, 1.0)
    assert (found["largest_difference"] > 0) == (precision == "float16")
    assert result["files"] == [
        {"name": "halves.html", "size": out.stat().st_size, "sha256": files.sha256(out)}
    ]
    assert [path.name for path in out.parent.iterdir()] == ["halves.html"]
    text = out.read_text(encoding="utf-8")
    (content,) = re.findall('id="network">([^<]+)<', text)
    shown = viewer_weights.unpack(base64.b64decode(content), "page")
    assert shown.about.name == "halves"
    assert shown.about.text.startswith("trained on toy, 100.00% of ")
    assert shown.about.command.startswith("vitruvius train --data killing.py:toy ")
    assert str(root) not in text
    assert str(Path(__file__).parent) not in text
    model = predictor.load(root / "train" / "halves")
    x = torch.randn(4, 1, 8, 8)
    torch.testing.assert_close(
        shown.net(x), model.net(x), rtol=0, atol=1e-6 if precision == "float32" else 0.05
    )


def test_a_page_runs_its_own_script_and_fetches_nothing(root: Path, tmp_path: Path) -> None:
    out = tmp_path / "halves.html"
    assert export(root, out, "--format", "page") == 0
    text = out.read_text(encoding="utf-8")
    policy = re.findall('Security-Policy" content="([^"]+)"', text)[0].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "unsafe" not in policy
    (script,), (style,) = (
        re.findall("<script>(.*?)</script>", text, re.S),
        re.findall("<style>(.*?)</style>", text, re.S),
    )
    for part in (script, style):
        digest = base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert not re.findall(r"(?:src|href)=|url\(|@import|https?://(?!www\.w3\.org/)", text)
    assert len(text) - len(re.findall('id="network">([^<]+)<', text)[0]) < 400_000


@pytest.mark.parametrize(
    ("words", "name", "sentence"),
    [
        (["--precision", "int8"], "a.html", "--precision int8: page does not have it here"),
        (["--batch", "4"], "a.html", "--batch 4: page holds weights"),
        ([], "a", "a page is a file whose name ends in .html"),
        ([], "taken.html", "it exists; choose a new file"),
    ],
)
def test_a_page_that_cannot_be_is_refused(
    root: Path, tmp_path: Path, words: list[str], name: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "taken.html").write_text("mine")
    assert export(root, tmp_path / name, "--format", "page", *words) == 2
    assert sentence in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["taken.html"]


def test_a_page_too_large_for_mail_is_refused_with_its_size(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(page, "LIMIT", 50_000)
    assert export(root, tmp_path / "halves.html", "--format", "page") == 2
    error = capsys.readouterr().err
    assert re.search(r"the page would have 0\.1 MB, at most 0 MB are mailed; --precision float16", error)
    assert not list(tmp_path.iterdir())
    settings = ExportSettings(format="page")
    monkeypatch.undo()
    with pytest.raises(UserError, match=r"the page would have 461\.\d MB, at most 20 MB"):
        page.refuse_early(settings, tables.arch("vit_base_patch16_224"))
    with pytest.raises(UserError, match="a page does not compute a stem of convolutions: vitruvius serve"):
        page.refuse_early(settings, Arch(image=8, patch=4, stem=(2, 3)))
