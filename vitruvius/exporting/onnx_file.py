"""A network as one ONNX file with its weights inside, in float32, float16 or int8."""

import importlib.util
import json
import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from vitruvius.arch import cost
from vitruvius.arch.arch import Arch
from vitruvius.core.errors import UserError
from vitruvius.exporting import program
from vitruvius.exporting.settings import ExportSettings
from vitruvius.exporting.source import Source
from vitruvius.nn.vit import ViT

FILE = "model.onnx"
PACKAGES = ("onnx", "onnxscript", "onnxruntime")
LARGEST_FILE = 2**31 - 2**24
"""Bytes of weights in one file: its format (protobuf) ends at 2 GiB."""
CALIBRATION_BATCH = 16


def refuse_missing(asked: str) -> None:
    """Refuse to begin without the packages of the extra; `asked` is the option that needs them."""
    for name in PACKAGES:
        if importlib.util.find_spec(name) is None:
            raise UserError(f"{asked} needs the package {name}: pip install 'vitruvius[export]'")


def refuse_large(settings: ExportSettings, arch: Arch) -> None:
    """Refuse a network whose weights do not fit into one file; int8 is made from a file in float32."""
    size = cost.cost(arch).weight_bytes // (2 if settings.precision == "float16" else 1)
    if size > LARGEST_FILE:
        raise UserError(f"--format onnx: {size / 2**30:.1f} GiB of weights, one file holds at most 2 GiB")


def write(folder: Path, source: Source, settings: ExportSettings) -> None:
    """Write the network, quantised if asked, with names, classes and preprocessing in the metadata."""
    convert(folder / FILE, source.net, settings)
    if settings.precision == "int8":
        with _quiet():
            _quantise(folder / FILE, source.calibration(), settings.fixed_batch)
    _describe(folder / FILE, source)


def convert(path: Path, net: ViT, settings: ExportSettings) -> None:
    """Write a network as one file with its weights inside."""
    refuse_large(settings, net.arch)
    traced = program.trace(net, settings)
    with _quiet():
        try:
            names: dict[str, Any] = {"input_names": ["image"], "output_names": ["logits"]}
            converted = torch.onnx.export(traced, (), dynamo=True, verbose=False, **names)
        except Exception as error:  # the converter raises errors of many types
            raise program.inexportable(settings, net.arch.kernel, error) from error
        assert converted is not None
        converted.save(path, external_data=False)


def read(folder: Path, settings: ExportSettings) -> Callable[[Tensor], Tensor]:
    """Load the file in onnxruntime as a function of normalised images, with as many threads as torch has."""
    session = open_session(folder / FILE)

    def forward(image_BCHW: Tensor) -> Tensor:
        (scores,) = session.run(None, {"image": image_BCHW.numpy()})
        return torch.from_numpy(scores)

    return forward


def open_session(path: Path) -> Any:
    """Open a file in onnxruntime on the CPU."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.log_severity_level = 3  # errors
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def _describe(path: Path, source: Source) -> None:
    """Write classes and preprocessing into the file; call the batch dimension by its name."""
    import onnx

    model = onnx.load(path)
    about = {"classes": list(source.classes), "preprocessing": source.preprocessing()}
    onnx.helper.set_model_props(model, {key: json.dumps(value) for key, value in about.items()})
    model.producer_name = "vitruvius"
    first = model.graph.input[0].type.tensor_type.shape.dim[0].dim_param
    for value in (*model.graph.input, *model.graph.output, *model.graph.value_info):
        for dim in value.type.tensor_type.shape.dim:
            if first and dim.dim_param == first:
                dim.dim_param = "batch"
    onnx.checker.check_model(model)
    onnx.save_model(model, path)


class _Calibration:
    """Hand training images to onnxruntime's calibration, a batch at a time."""

    def __init__(self, image_BCHW: Tensor, batch: int) -> None:
        whole = len(image_BCHW) // batch * batch  # a fixed batch takes no fewer
        self.batches = iter(torch.split(image_BCHW[:whole], batch))

    def get_next(self) -> dict[str, Any] | None:
        """Return the next batch, None after the last."""
        image_BCHW = next(self.batches, None)
        return None if image_BCHW is None else {"image": image_BCHW.numpy()}


def _quantise(path: Path, image_BCHW: Tensor, batch: int | None) -> None:
    """Quantise products with weights and of attention statically; norms and softmax stay in float32.

    So do the two small products that have a matrix per head: with a scale per channel they cannot be run.
    """
    import onnx
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static

    class Reader(_Calibration, CalibrationDataReader):  # type: ignore[misc]
        pass

    size = batch or min(CALIBRATION_BATCH, len(image_BCHW))
    if len(image_BCHW) < size:
        repeats = -(-size // len(image_BCHW))
        image_BCHW = image_BCHW.repeat(repeats, 1, 1, 1)
    whole = path.with_name("float32.onnx")
    path.rename(whole)
    graph = onnx.load(whole).graph
    per_head = {weight.name for weight in graph.initializer if len(weight.dims) > 2}
    quantize_static(
        whole,
        path,
        Reader(image_BCHW, size),
        quant_format=QuantFormat.QDQ,
        op_types_to_quantize=["MatMul", "Gemm"],
        nodes_to_exclude=[node.name for node in graph.node if per_head.intersection(node.input)],
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,  # products of 8 x 8 bits overflow on CPUs without VNNI
    )
    whole.unlink()


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide what torch and onnxruntime say about packages that are not needed."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(before)
