"""docs/deploying.md is true: its commands and its service, run as they stand, answer as `predict` does."""

import json
import re
import shlex
import threading
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from vitruvius.cli import main
from vitruvius.training import predictor

TEXT = (Path(__file__).parent.parent / "docs" / "deploying.md").read_text()
SMALL = ["--set", "depth=1", "width=16", "heads=2", "head_dim=8", "mlp=16", "--epochs", "3", "--quiet"]


def test_the_service_of_the_document_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    for index in range(40):
        pixels = random.integers(100, size=(40, 50, 3), dtype=np.uint8)
        pixels[..., index % 2] += 100
        folder = tmp_path / "photos" / ("red", "green")[index % 2]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(folder / f"{index}.png")
    train, export = re.findall(r"^vitruvius (.*)$", TEXT, re.M)
    assert main([*shlex.split(train), *SMALL]) == 0
    assert main([*shlex.split(export), "--quiet"]) == 0

    code = TEXT.split("```python\n")[1].split("```")[0]
    lines, _, last = code.strip().rpartition("\n")
    assert len([line for line in code.splitlines() if line]) == 10
    assert last.endswith(".serve_forever()")
    names: dict[str, Any] = {}
    exec(lines, names)
    server: Any = eval(last.removesuffix(".serve_forever()").replace("8000", "0"), names)
    server.RequestHandlerClass.log_message = lambda *_: None
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        model = predictor.load(Path("runs/train/leaves"))
        for picture in (Path("photos/red/0.png"), Path("photos/green/1.png")):
            address = f"http://127.0.0.1:{server.server_port}"
            with urllib.request.urlopen(address, data=picture.read_bytes()) as reply:
                answer = json.loads(reply.read())
            x = (predictor.read_picture(str(picture), model) - model.mean) / model.std
            wanted = dict(zip(model.classes, model.net(x[None])[0].tolist(), strict=True))
            assert answer == pytest.approx(wanted, abs=1e-4)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
