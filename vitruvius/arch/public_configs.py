"""The `config.json` of transformers and timm, read and written: a network as other libraries describe it.

What a library cannot express is refused by name: a weight file whose function is another one would load there
without a word.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from vitruvius.arch.arch import Arch
from vitruvius.core.counted import counted
from vitruvius.core.errors import UserError
from vitruvius.core.files import read_json

ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_pytorch_tanh", "relu": "relu", "silu": "silu"}
"""Ours and the names that transformers uses."""
TIMM_EPS = 1e-6
"""The constant of timm's layer norms, which its configs cannot change."""
TIMM_SIZES = {  # width, depth, heads
    "tiny": (192, 12, 3),
    "small": (384, 12, 6),
    "base": (768, 12, 12),
    "large": (1024, 24, 16),
    "huge": (1280, 32, 16),
}
TIMM_NAME = re.compile(r"(?:vit|deit)_(tiny|small|base|large|huge)_patch(\d+)_(\d+)(?:\..*)?")
TIMM_ARGUMENTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "img_size": ("image", int),
    "patch_size": ("patch", int),
    "embed_dim": ("width", int),
    "depth": ("depth", int),
    "num_heads": ("heads", int),
    "qkv_bias": ("qkv_bias", bool),
    "class_token": ("class_token", bool),
    "global_pool": (
        "pooling",
        lambda value: "cls" if value == "token" else "mean" if value == "avg" else value,
    ),
    "pos_embed": ("positions", lambda value: "learned" if value == "learn" else "none"),
    "act_layer": ("activation", str),
    "proj_drop_rate": ("dropout", float),
    "init_values": ("layer_scale", float),
}
"""The arguments of timm's VisionTransformer with our fields, and how a value becomes ours."""
TIMM_CROPS = {"crop": "center", "pad": "border", "squash": "squash"}
"""How pictures become squares, and timm's names for that."""
TIMM_READ_APART = {"mlp_ratio", "fc_norm", "pos_drop_rate", "num_classes", "in_chans"}


class Checkpoint(NamedTuple):
    """What a folder of another library says about its network and its images."""

    folder: Path
    library: str
    fields: dict[str, Any]
    """The fields of the Arch; image, channels and classes among them."""
    mean: tuple[float, ...]
    """Of the pixels in 0..1, per channel; empty if the folder does not say."""
    std: tuple[float, ...]


def find(source: str) -> Path | None:
    """Return the folder of another library that `--init` or `--arch` names, by itself or by its weights."""
    path = Path(source)
    folder = path.parent if path.suffix == ".safetensors" else path
    if not (folder / "config.json").is_file():
        return None
    return folder if _library(read_json(folder / "config.json")) else None


def read(folder: Path) -> Checkpoint:
    """Return the network and the normalisation that a folder of transformers or timm describes."""
    config = read_json(folder / "config.json")
    if _library(config) == "transformers":
        processor = folder / "preprocessor_config.json"
        pixels = read_json(processor) if processor.is_file() else {}
        fields = _from_transformers(config, f"{folder}/config.json")
        mean, std = pixels.get("image_mean"), pixels.get("image_std")
        mean, std = (mean, std) if pixels.get("do_normalize", True) else (None, None)
        return Checkpoint(folder, "transformers", fields, *_checked(folder, mean, std))
    fields = _from_timm(config, f"{folder}/config.json")
    pixels = config.get("pretrained_cfg") or {}
    return Checkpoint(folder, "timm", fields, *_checked(folder, pixels.get("mean"), pixels.get("std")))


def refuse_inexpressible(arch: Arch, library: str) -> None:
    """Refuse a network that a library cannot express, with every reason."""
    uneven = [name for name in ("heads", "head_dim", "mlp") if isinstance(getattr(arch, name), tuple)]
    inner = {layer.heads * layer.head_dim for layer in arch.layers}
    applies: dict[str, Any] = {f"{name} that differ from layer to layer": True for name in uneven} | {
        f"the kernel {arch.kernel}": arch.kernel != "softmax",
        f"heads x head_dim {min(inner)} other than width {arch.width}": not uneven and inner != {arch.width},
        f"a stem of {counted(len(arch.stem), 'convolution')}": arch.stem,
        "out_bias false": not arch.out_bias,
    }
    if library == "transformers":
        applies |= {
            f"positions {arch.positions}": arch.positions != "learned",
            f"pooling {arch.pooling}": arch.pooling != "cls",
            "class_token false": not arch.class_token,
            f"layer_scale {arch.layer_scale:g}": arch.layer_scale,
        }
    else:
        applies["positions sinusoidal"] = arch.positions == "sinusoidal"
        applies[f"norm_eps {arch.norm_eps:g} other than {TIMM_EPS:g}"] = arch.norm_eps != TIMM_EPS
    if reasons := [reason for reason, is_so in applies.items() if is_so]:
        raise UserError(f"--format {library} cannot express {', '.join(reasons)}; choose onnx or safetensors")


def transformers_config(arch: Arch, classes: Sequence[str], dtype: str) -> dict[str, Any]:
    """Return the config.json with which transformers builds a network."""
    refuse_inexpressible(arch, "transformers")
    layer = arch.layers[0]
    return {
        "architectures": ["ViTForImageClassification"],
        "model_type": "vit",
        "hidden_size": arch.width,
        "num_hidden_layers": arch.depth,
        "num_attention_heads": layer.heads,
        "intermediate_size": layer.mlp,
        "hidden_act": ACTIVATIONS[arch.activation],
        "hidden_dropout_prob": arch.dropout,
        "attention_probs_dropout_prob": 0.0,
        "initializer_range": 0.02,
        "layer_norm_eps": arch.norm_eps,
        "image_size": arch.image,
        "patch_size": arch.patch,
        "num_channels": arch.channels,
        "qkv_bias": arch.qkv_bias,
        "encoder_stride": arch.patch,
        "id2label": {str(index): name for index, name in enumerate(classes)},
        "label2id": {name: index for index, name in enumerate(classes)},
        "torch_dtype": dtype,
    }


def transformers_preprocessor(
    arch: Arch, mean: Sequence[float], std: Sequence[float], scaled: bool, fit: str
) -> dict[str, Any]:
    """Return the preprocessor_config.json: bilinear resize to a square and, if `scaled`, 0..1, normalise.

    The processor of ViT stretches; that of CLIP, which goes with any network, keeps the centre (`crop`).
    """
    square = {"height": arch.image, "width": arch.image}
    resized: dict[str, Any] = {"image_processor_type": "ViTImageProcessor", "do_resize": True, "size": square}
    if fit == "crop":
        resized |= {"image_processor_type": "CLIPImageProcessor", "size": {"shortest_edge": arch.image}}
        resized |= {"do_center_crop": True, "crop_size": square}
    return {
        **resized,
        "do_convert_rgb": arch.channels == 3,
        "resample": 2,
        "do_rescale": scaled,
        "rescale_factor": 1 / 255,
        "do_normalize": scaled,
        "image_mean": list(mean),
        "image_std": list(std),
    }


def timm_config(
    arch: Arch, classes: Sequence[str], mean: Sequence[float], std: Sequence[float], fit: str
) -> dict[str, Any]:
    """Return the config.json with which `timm.create_model("local-dir:FOLDER")` builds a network."""
    refuse_inexpressible(arch, "timm")
    layer, pool = arch.layers[0], "token" if arch.pooling == "cls" else "avg"
    ratio = layer.mlp / arch.width
    if int(arch.width * ratio) != layer.mlp:  # timm rounds the product down
        ratio = (layer.mlp + 0.5) / arch.width
    return {
        "architecture": "vit_base_patch16_224",
        "num_classes": arch.classes,
        "num_features": arch.width,
        "global_pool": pool,
        "model_args": {
            "img_size": arch.image,
            "patch_size": arch.patch,
            "in_chans": arch.channels,
            "embed_dim": arch.width,
            "depth": arch.depth,
            "num_heads": layer.heads,
            "mlp_ratio": ratio,
            "qkv_bias": arch.qkv_bias,
            "class_token": arch.class_token,
            "global_pool": pool,
            "fc_norm": arch.final_norm == "pooled",
            "pos_embed": "learn" if arch.positions == "learned" else "none",
            "act_layer": arch.activation,
            "pos_drop_rate": arch.dropout,
            "proj_drop_rate": arch.dropout,
            **({"init_values": arch.layer_scale} if arch.layer_scale else {}),
        },
        "pretrained_cfg": {
            "input_size": [arch.channels, arch.image, arch.image],
            "fixed_input_size": True,
            "interpolation": "bilinear",
            "crop_pct": 1.0,
            "crop_mode": TIMM_CROPS[fit],
            "mean": list(mean),
            "std": list(std),
            "num_classes": arch.classes,
            "first_conv": "patch_embed.proj",
            "classifier": "head",
            "label_names": list(classes),
        },
    }


def _library(config: Any) -> str:
    """Return the library that wrote a config.json; empty if it is a run's own or anything else."""
    if not isinstance(config, dict) or "data" in config:
        return ""
    return "transformers" if "model_type" in config else "timm" if "architecture" in config else ""


def _from_transformers(config: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of the Arch of a ViTConfig; what the file leaves out has that class's default."""
    if config["model_type"] != "vit":
        raise UserError(f"{where}: a network of type '{config['model_type']}'; only 'vit' is read")
    ours = {theirs: name for name, theirs in ACTIVATIONS.items()} | {"swish": "silu"}
    activation = config.get("hidden_act", "gelu")
    if activation not in ours:
        raise UserError(f"{where}: hidden_act {activation!r} is not one of {', '.join(sorted(ours))}")
    labels = config.get("id2label") or {"0": "", "1": ""}
    return {
        "image": _square(config.get("image_size", 224), where),
        "channels": config.get("num_channels", 3),
        "classes": config.get("num_labels", len(labels)),
        "patch": _square(config.get("patch_size", 16), where),
        "width": config.get("hidden_size", 768),
        "depth": config.get("num_hidden_layers", 12),
        "heads": config.get("num_attention_heads", 12),
        "mlp": config.get("intermediate_size", 3072),
        "activation": ours[activation],
        "norm_eps": config.get("layer_norm_eps", 1e-12),
        "qkv_bias": config.get("qkv_bias", True),
        "dropout": config.get("hidden_dropout_prob", 0.0),
        "init": "public",
    }


def _from_timm(config: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return the fields of the Arch of a timm config: sizes by the architecture's name, then `model_args`."""
    name, arguments = str(config["architecture"]), config.get("model_args") or {}
    known = TIMM_NAME.fullmatch(name)
    if known is None:
        raise UserError(f"{where}: the architecture {name} is not a plain ViT that is known by its name")
    strange = sorted(arguments.keys() - TIMM_ARGUMENTS.keys() - TIMM_READ_APART)
    if strange:
        raise UserError(f"{where}: model_args {', '.join(strange)}: not an option of a plain ViT")
    pixels = config.get("pretrained_cfg") or {}
    width, depth, heads = TIMM_SIZES[known[1]]
    fields: dict[str, Any] = {"image": int(known[3]), "patch": int(known[2]), "width": width, "depth": depth}
    fields |= {"heads": heads, "qkv_bias": True, "norm_eps": TIMM_EPS, "init": "public"}
    arguments = {"global_pool": config.get("global_pool", "token"), **arguments}
    for key, value in arguments.items():
        if key in TIMM_ARGUMENTS and value is not None:
            field, convert = TIMM_ARGUMENTS[key]
            fields[field] = convert(_square(value, where) if field in ("image", "patch") else value)
    after_pooling = arguments.get("fc_norm")  # by default where patches are averaged
    pooled = fields["pooling"] == "mean" if after_pooling is None else after_pooling
    return fields | {
        "mlp": int(fields["width"] * arguments.get("mlp_ratio", 4)),
        "final_norm": "pooled" if pooled else "tokens",
        "channels": arguments.get("in_chans", pixels.get("input_size", (3,))[0]),
        "classes": max(1, config.get("num_classes", pixels.get("num_classes", 1000))),
    }


def _square(value: Any, where: str) -> Any:
    """Return the side of a square that is written as one number or as two equal ones."""
    if isinstance(value, list | tuple):
        if len(set(value)) != 1:
            raise UserError(f"{where}: sides {value} are not those of a square")
        return value[0]
    return value


def _checked(folder: Path, mean: Any, std: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    if mean is None or std is None:
        return (), ()
    pairs = [mean, std]
    is_list = all(isinstance(part, list | tuple) and part for part in pairs) and len(mean) == len(std)
    if not is_list or not all(isinstance(value, int | float) for part in pairs for value in part):
        raise UserError(f"{folder}: mean {mean} and standard deviation {std} are not numbers per channel")
    if min(std) <= 0:
        raise UserError(f"{folder}: the standard deviation {std} is not above 0")
    return tuple(map(float, mean)), tuple(map(float, std))
