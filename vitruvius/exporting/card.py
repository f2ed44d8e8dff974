"""The README.md of an exported folder: what the model is, how good, and the lines that use it."""

from vitruvius.exporting.results import Verification
from vitruvius.exporting.settings import ExportSettings
from vitruvius.exporting.source import Source

USE = {
    "onnx": """import numpy, onnxruntime
session = onnxruntime.InferenceSession("model.onnx")
image = (pixels / 255 - mean) / std  # float32, (images, {channels}, {side}, {side})
logits = session.run(None, {{"image": image.astype(numpy.float32)}})[0]""",
    "torch": """import torch
net = torch.export.load("model.pt2").module()
logits = net((pixels / 255 - mean) / std)  # float32, (images, {channels}, {side}, {side})""",
    "transformers": """from transformers import ViTForImageClassification
net = ViTForImageClassification.from_pretrained(".").eval()
logits = net((pixels / 255 - mean) / std).logits  # (images, {channels}, {side}, {side})""",
    "timm": """import timm
net = timm.create_model("local-dir:.", pretrained=True).eval()
logits = net((pixels / 255 - mean) / std)  # (images, {channels}, {side}, {side})""",
    "safetensors": """from vitruvius import Arch, ViT
from vitruvius.core import files
from vitruvius.nn import layouts
net = ViT(Arch(**files.read_json("model.json")["arch"])).eval()
layouts.fill(net, layouts.read("model.safetensors"))""",
}
"""How a program uses the written files."""

FITS = {"crop": "cropping the centre", "pad": "black bars", "squash": "stretching"}


def card(source: Source, settings: ExportSettings, found: Verification) -> str:
    """Return the model card in Markdown; the first lines are those that a model hub reads."""
    arch = source.net.arch
    use = USE[settings.format].format(channels=arch.channels, side=arch.image)
    head = "library_name: {}\npipeline_tag: image-classification\n".format(
        {"safetensors": "vitruvius", "torch": "pytorch"}.get(settings.format, settings.format)
    )
    mean, std = ([round(value, 4) for value in part] for part in (source.mean, source.std))
    lines = [
        f"---\n{head}---",
        f"# A Vision Transformer for {len(source.data.classes)} classes of {source.data.name}",
        f"Trained by Vitruvius; exported as {settings.format} in {settings.precision}.",
        (
            f"Of {found.images:,} {found.split} images {found.accuracy_after:.2%} are classified correctly, "
            f"{found.accuracy_before:.2%} before the export. No score differs by more than "
            f"{found.largest_difference:.2g}."
        ),
        (
            f"Input: {arch.channels} x {arch.image} x {arch.image}, {source.scale}, minus mean {mean}, "
            f"divided by {std}, per channel. Pictures become squares by {FITS[source.data.fit]}."
        ),
        f"Classes: {', '.join(source.classes)}.",
        f"```python\n{use}\n```",
        "`manifest.json` holds the SHA-256 of every file, the versions and the measured differences.",
    ]
    return "\n\n".join(lines) + "\n"
