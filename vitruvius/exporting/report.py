"""The README.md of an exported folder: what the model is, how good, and the lines that use it."""

from vitruvius.exporting.results import Verification
from vitruvius.exporting.settings import ExportSettings
from vitruvius.exporting.source import Source
from vitruvius.render.text import one_line

USE = {
    "onnx": """import numpy, onnxruntime
session = onnxruntime.InferenceSession("model.onnx")
mean, std = (numpy.reshape(part, (-1, 1, 1)) for part in ({mean}, {std}))
image = {image}  # pixels: (images, {channels}, {side}, {side})
logits = session.run(None, {{"image": image.astype(numpy.float32)}})[0]""",
    "torch": """import torch
net = torch.export.load("model.pt2").module()
mean, std = (torch.tensor(part).view(-1, 1, 1) for part in ({mean}, {std}))
logits = net({image})  # pixels: float32, (images, {channels}, {side}, {side})""",
    "transformers": """from transformers import AutoImageProcessor, ViTForImageClassification
net = ViTForImageClassification.from_pretrained(".").eval()
processor = AutoImageProcessor.from_pretrained(".")
logits = net(**processor(pictures, return_tensors="pt")).logits  # pictures: a list of PIL images""",
    "timm": """import timm
net = timm.create_model("local-dir:.", pretrained=True).eval()
transform = timm.data.create_transform(**timm.data.resolve_model_data_config(net))
logits = net(transform(picture)[None])  # picture: a PIL image""",
    "safetensors": """from vitruvius import Arch, ViT
from vitruvius.core import files
from vitruvius.nn import layouts
net = ViT(Arch(**files.read_json("model.json")["arch"])).eval()
layouts.fill(net, layouts.read("model.safetensors"))""",
}
"""How a program uses the written files."""

TENSORS = {
    "transformers": """from transformers import ViTForImageClassification
net = ViTForImageClassification.from_pretrained(".").eval()
logits = net(numbers).logits  # (samples, {channels}, {side}, {side})""",
    "timm": """import timm
net = timm.create_model("local-dir:.", pretrained=True).eval()
logits = net(numbers)  # (samples, {channels}, {side}, {side})""",
}
"""The same for samples that are no pictures, but numbers as they are."""

FITS = {"crop": "cropping the centre", "pad": "black bars", "squash": "stretching"}


DIFFERENT = {
    ("transformers", "pad"): "transformers' image processor stretches pictures instead: pad them before it",
    ("timm", "pad"): "timm's transform fills the bars with the mean colour, not with black",
}
"""Where a library's own preparation of pictures is not the one of the training, by format and fit."""


def difference(settings: ExportSettings, source: Source) -> str:
    """Return how the preparation of pictures by a library differs from the run's; empty if it does not."""
    return DIFFERENT.get((settings.format, source.data.fit), "")


def card(source: Source, settings: ExportSettings, found: Verification) -> str:
    """Return the model card in Markdown; the first lines are those that a model hub reads."""
    arch = source.net.arch
    library = {"safetensors": "vitruvius", "torch": "pytorch"}.get(settings.format, settings.format)
    head = f"library_name: {library}\npipeline_tag: image-classification\n"
    mean, std = ([round(value, 4) for value in part] for part in (source.mean, source.std))
    numbers = {"mean": mean, "std": std, "channels": arch.channels, "side": arch.image}
    numbers |= {"image": "(pixels / 255 - mean) / std" if source.data.mean else "(pixels - mean) / std"}
    use = (USE if source.data.mean else USE | TENSORS)[settings.format].format(**numbers)
    other = difference(settings, source)
    lines = [
        f"---\n{head}---",
        f"# A Vision Transformer for {len(source.data.classes)} classes of {one_line(source.data.name)}",
        f"Trained by Vitruvius; exported as {settings.format} in {settings.precision}.",
        (
            f"Of {found.images:,} {found.split} images {found.accuracy_after:.2%} are classified correctly, "
            f"{found.accuracy_before:.2%} before the export. No score differs by more than "
            f"{found.largest_difference:.2g}."
        ),
        (
            f"Input: {arch.channels} x {arch.image} x {arch.image}, {source.scale}, minus mean {mean}, "
            f"divided by {std}, per channel. Pictures become squares by {FITS[source.data.fit]}"
            f"{f'; {other}' if other else ''}."
        ),
        f"Classes: {', '.join(map(one_line, source.classes))}.",
        f"```python\n{use}\n```",
        "`manifest.json` holds the SHA-256 of every file, the versions and the measured differences.",
    ]
    return "\n\n".join(lines) + "\n"
