"""Weights with a description: folders that transformers, timm and Vitruvius load."""

from pathlib import Path

import torch
from safetensors.torch import save

from vitruvius.arch import public_configs
from vitruvius.arch.arch import Arch
from vitruvius.core import files
from vitruvius.exporting.settings import ExportSettings
from vitruvius.exporting.source import Source
from vitruvius.nn import layouts
from vitruvius.nn.vit import ViT

FILE = "model.safetensors"
# The older names: both generations of transformers read them, the newer ones only the newer.
LAYOUTS = {"transformers": "transformers4", "timm": "timm", "safetensors": "vitruvius"}


def write(folder: Path, source: Source, settings: ExportSettings) -> None:
    """Write the weights under the names of the format, and its description of network and images."""
    arch, classes, mean, std = source.net.arch, source.classes, source.mean, source.std
    if settings.format == "transformers":
        config = public_configs.transformers_config(arch, classes, settings.precision)
        files.write_json(folder / "config.json", config)
        scaled, fit = bool(source.data.mean), source.data.fit
        processor = public_configs.transformers_preprocessor(arch, mean, std, scaled, fit)
        files.write_json(folder / "preprocessor_config.json", processor)
    elif settings.format == "timm":
        config = public_configs.timm_config(arch, classes, mean, std, source.data.fit)
        files.write_json(folder / "config.json", config)
    else:
        about = {"arch": arch.model_dump(mode="json"), "classes": list(classes), "mean": mean, "std": std}
        about |= {"data": source.data.name, "fit": source.data.fit}
        files.write_json(folder / "model.json", about)
    dtype = torch.float16 if settings.precision == "float16" else torch.float32
    tensors = layouts.export(source.net, LAYOUTS[settings.format])
    # Without this mark transformers does not know that the tensors are torch's.
    tensors = {name: value.to(dtype) for name, value in tensors.items()}
    files.write(folder / FILE, save(tensors, metadata={"format": "pt"}))


def read(folder: Path, settings: ExportSettings) -> ViT:
    """Build the network that the written files describe, with the written weights."""
    if settings.format == "safetensors":
        arch = Arch(**files.read_json(folder / "model.json")["arch"])
    else:
        arch = Arch(**public_configs.read(folder).fields)
    net = ViT(arch).eval()
    layouts.fill(net, layouts.read(folder / FILE), str(folder / FILE))
    return net
