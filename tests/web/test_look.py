"""A network that the server computes gives torch's numbers, and those of the viewer's own JavaScript."""

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.web import visitor
from tests.web.test_forward import ARCHS, KERNELS, NODE, SCRIPT, needs_node, shown, split
from tests.web.visitor import ARCH, Visitor, identity
from vitruvius.arch.arch import Arch
from vitruvius.nn import attention_maps
from vitruvius.web import look, weights
from vitruvius.web.look import Asked, Changes

CASES = {
    **ARCHS,
    **{kernel: Arch(image=8, patch=4, width=8, depth=2, heads=2, mlp=8, kernel=kernel) for kernel in KERNELS},
}


def question(pixels: Any, **head: Any) -> bytes:
    """A question as server_source.js asks it."""
    return json.dumps(head).encode() + b"\n" + np.asarray(pixels, dtype="<f4").tobytes()


@pytest.mark.parametrize("name", CASES)
def test_unchanged_it_is_the_network_itself(name: str) -> None:
    net = shown(CASES[name], images=1)
    pixels = net.images / 255
    logits, layers = look.trace(net, pixels, Changes())
    x = (pixels - net.predictor.mean) / net.predictor.std
    with torch.no_grad():
        assert torch.allclose(logits, net.net(x)[0], atol=1e-5)
    for layer, known in zip(layers, attention_maps.attention(net.net, x), strict=True):
        assert torch.allclose(layer.weights_HNN, known[0], atol=1e-6)


@needs_node
@pytest.mark.parametrize("name", ["learned, class token, gelu", "sinusoidal, mean, gelu_tanh", "linear"])
def test_changed_it_is_what_the_browser_computes(name: str, tmp_path: Path) -> None:
    arch = CASES[name]
    net = shown(arch, images=2)
    order = [1, 0, *range(2, arch.patches)]
    changes: list[dict[str, Any]] = [
        {"hidden": [1, 3], "order": None, "positions": True, "beta": 1},
        {"hidden": [], "order": order, "positions": False, "beta": 2.5},
        {"hidden": [0], "order": order, "positions": True, "beta": "inf"},
        {"hidden": list(range(arch.patches)), "order": None, "positions": True, "beta": 0},
    ]
    (tmp_path / "net").write_bytes(weights.pack(net))
    command = [str(NODE), str(SCRIPT), str(tmp_path / "net"), json.dumps(changes), str(tmp_path / "out")]
    subprocess.run(command, check=True)
    found = torch.from_numpy(np.fromfile(tmp_path / "out", dtype="<f4")).chunk(len(changes))
    for change, numbers in zip(changes, found, strict=True):
        logits, maps = split(numbers, arch, 2)
        for index in range(2):
            own, layers = look.trace(net, net.images[index : index + 1] / 255, Changes(**change))
            assert torch.allclose(own, logits[index], atol=1e-4)
            for layer, known in zip(layers, maps, strict=True):
                assert torch.allclose(layer.weights_HNN, known[index], atol=1e-5)


def test_the_numbers_behind_a_token_make_its_output() -> None:
    net = shown(ARCHS["sizes that differ, silu"], images=1)
    asked = Asked(at={"layer": 1, "head": 2, "token": 3})
    found = {name: torch.tensor(value) for name, value in look.detail(net, net.images / 255, asked).items()}
    scores = found["keys"] @ found["q"] / found["q"].shape[0] ** 0.5
    assert torch.allclose(scores.softmax(0), found["weights"], atol=1e-5)
    assert torch.allclose(found["weights"] @ found["values"], found["mixed"], atol=1e-5)
    assert found["output"].shape == found["x"].shape == (12,)


def test_over_http_it_is_the_same(site: Visitor) -> None:
    address = f"/look/{identity('train', 'first')}"
    about = json.loads(site.ask(f"{address}/description").body)
    image = np.frombuffer(
        base64.b64decode(about["images"][0]), np.uint8 if about["pixels"] == "uint8" else "<f4"
    )
    assert image.shape == (64,)
    assert about["arch"]["layers"] == [{"heads": 2, "head_dim": 4, "mlp": 8}]
    pixels = np.linspace(0, 1, 64)
    sent = np.frombuffer(site.ask(f"{address}/forward", "POST", question(pixels)).body, "<f4")
    net = weights.unpack(site.ask(f"{address}/network").body, "sent")
    own = look.answer(net, torch.tensor(pixels, dtype=torch.float32).view(1, 1, 8, 8), Asked())
    assert np.allclose(sent, np.frombuffer(own, "<f4"), atol=1e-5)
    assert len(sent) == 2 + 2 * ARCH.tokens**2
    at = {"layer": 0, "head": 1, "token": 0}
    found = json.loads(site.ask(f"{address}/detail", "POST", question(pixels, at=at)).body)
    assert np.allclose(sum(found["weights"]), 1, atol=1e-5)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "JSON"),
        (b"[]\n", "an object"),
        (b"{" * 9999 + b"\n", "JSON"),
        (question(range(63)), "64 pixels are needed, 63 were sent"),
        (question([float("nan")] * 64), "not a number"),
        (question(range(64), changes={"hidden": [4]}), "4 patches"),
        (question(range(64), changes={"order": [0, 0, 1, 2]}), "once"),
        (question(range(64), changes={"beta": -1}), "beta"),
        (question(range(64), changes={"beta": float("nan")}), "JSON"),
        (question(range(64), wish="more"), "wish"),
        (question(range(64), at={"layer": 1, "head": 0, "token": 0}), "Layer 1"),
        (question(range(64), at={"layer": 0, "head": 2, "token": 0}), "Head 2"),
        (question(range(64), at={"layer": 0, "head": 0, "token": 5}), "Token 5"),
    ],
)
def test_a_bad_question_is_answered_with_a_sentence(body: bytes, words: str, site: Visitor) -> None:
    answer = site.ask(f"/look/{identity('train', 'first')}/detail", "POST", body, Accept="*/*")
    assert answer.status == 400
    assert words in answer.text
    assert "<" not in answer.text


def test_data_made_by_the_users_code_are_not_loaded(site: Visitor, tmp_path: Path) -> None:
    code, trace = tmp_path / "mine.py", tmp_path / "it-ran"
    code.write_text(f"open({str(trace)!r}, 'w')")
    visitor.training(site.runs, "own-data", 0.5, data=f"{code}:data")
    about = json.loads(site.ask(f"/look/{identity('train', 'own-data')}/description").body)
    assert len(about["images"]) == 1
    assert "draw or upload" in about["text"]
    assert "not run here" in about["text"]
    assert not trace.exists()
    others = json.loads(site.ask(f"/look/{identity('train', 'first')}/description").body)
    assert len(others["images"]) > 1  # those of a data set that ships are


def test_data_that_are_not_on_this_machine_are_not_downloaded(
    site: Visitor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("VITRUVIUS_OFFLINE", "HF_HUB_OFFLINE", "VITRUVIUS_DATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    visitor.training(site.runs, "far-data", 0.5, data="cifar")
    about = json.loads(site.ask(f"/look/{identity('train', 'far-data')}/description").body)
    assert "cifar-10-binary.tar.gz is not on this machine, and nothing is downloaded here" in about["text"]
    assert not list(tmp_path.iterdir())


def test_a_large_network_is_computed_by_the_server(site: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    id = identity("train", "first")
    assert 'data-where="browser"' in site.ask(f"/look?run={id}").text
    monkeypatch.setattr(look, "BROWSER_BYTES", 100)
    assert 'data-where="server"' in site.ask(f"/look?run={id}").text
    assert not look.fits_browser(
        Arch(image=224, channels=3, patch=16, width=768, depth=12, heads=12, mlp=3072)
    )


def test_a_network_with_convolutions_is_computed_by_the_server() -> None:
    assert look.fits_browser(Arch(image=8, patch=4))
    assert not look.fits_browser(Arch(image=8, patch=4, stem=(2, 3)))


def test_only_the_networks_used_last_are_kept(site: Visitor) -> None:
    networks = look.Networks()
    folders = [site.runs / "train" / name for name in ("first", "second")]
    first = networks.of_run(folders[0])
    assert networks.of_run(folders[0]) is first
    for _ in range(look.KEPT):
        networks._get(str(_), 0.0, lambda: first)
    assert networks.of_run(folders[0]) is not first
