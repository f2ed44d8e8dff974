"""Products of matrices by MKL and by oneDNN: what `training/onednn.py` chooses between, on this machine.

    python -m benchmarks.products            a minute on idle cores, writes results/products.json
    python -m benchmarks.products --quick    few repetitions on any machine, writes nothing

The products are those of a linear map of so many tokens: its output, the gradient of its input and that of
its weights, for which oneDNN first copies the smaller matrix. Both are called through Python and take turns
in one process; ratios are medians over paired blocks with an interval of 95 %.

Fails if training gives the products of a map to the library that is slower for them here, also where the rule
leaves all products to MKL, so that people with other processors can tell.
"""

import argparse
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from benchmarks import record, turns
from benchmarks.turns import Contestant
from vitruvius.core.errors import UserError
from vitruvius.training import device, onednn

Product = Callable[[], Tensor]
MAPS = ((64, 64), (64, 128), (64, 192), (64, 512), (512, 64), (192, 768), (768, 192))
"""Inputs and outputs of linear maps: of `mnist-slim`, of the reference ViT and of ViT-Ti."""
TOKENS = 544
"""17 tokens of each of 32 images."""


def products(tokens: int, inputs: int, outputs: int) -> dict[str, dict[str, Product]]:
    """The three products of a linear map, each by both libraries."""
    x_NI, weight_OI, g_NO = (
        torch.randn(tokens, inputs),
        torch.randn(outputs, inputs),
        torch.randn(tokens, outputs),
    )
    linear = torch.ops.vitruvius.linear
    if inputs < outputs:
        weights = {"MKL": lambda: g_NO.T @ x_NI, "oneDNN": lambda: linear(x_NI.T, g_NO.T, None).T}
    else:
        weights = {"MKL": lambda: g_NO.T @ x_NI, "oneDNN": lambda: linear(g_NO.T, x_NI.T, None)}
    return {
        "output": {"MKL": lambda: x_NI @ weight_OI.T, "oneDNN": lambda: linear(x_NI, weight_OI, None)},
        "gradient of input": {
            "MKL": lambda: g_NO @ weight_OI,
            "oneDNN": lambda: linear(g_NO, weight_OI.T, None),
        },
        "gradient of weights": weights,
    }


def measure(threads: int, blocks: int, length: int) -> list[dict[str, Any]]:
    """The rows of one number of threads, printed as they are found."""
    rows = []
    with device.threads(threads):
        for inputs, outputs in MAPS:
            for name, both in products(TOKENS, inputs, outputs).items():
                times = turns.seconds({who: _times(product) for who, product in both.items()}, blocks, length)
                found = turns.ratio(times["MKL"], times["oneDNN"])
                row = {"threads": threads, "inputs": inputs, "outputs": outputs, "product": name}
                row |= {f"{who}_us": round(1e6 * sorted(each)[blocks // 2], 1) for who, each in times.items()}
                row |= {"onednn_is_faster_by": [round(value, 2) for value in found]}
                rows.append(row | {"pays": onednn.pays(TOKENS, inputs, outputs)})
                print(*(f"{value!s:>20}" for value in row.values()), flush=True)
    return rows


def failures(rows: list[dict[str, Any]], is_chosen: bool) -> list[str]:
    """Linear maps whose three products are given to the library that takes longer for them."""
    found, maps = [], {(row["threads"], row["inputs"], row["outputs"]) for row in rows if row["pays"]}
    for threads, inputs, outputs in sorted(maps):
        place = {"threads": threads, "inputs": inputs, "outputs": outputs}
        mine = [row for row in rows if row.items() >= place.items()]
        mkl, onednn_ = (sum(row[f"{who}_us"] for row in mine) for who in ("MKL", "oneDNN"))
        if (onednn_ > mkl) == is_chosen:
            what = f"{inputs} to {outputs}, {threads} threads: {'oneDNN' if is_chosen else 'MKL'} is slower"
            found.append(f"{what}, MKL {mkl:.1f} and oneDNN {onednn_:.1f} microseconds")
    return found


def main() -> None:
    """Measure, print, write, judge."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few repetitions, nothing written or judged")
    options = parser.parse_args()
    if options.quick:
        measure(1, 2, 2)
        return
    try:
        load = record.refuse_if_busy()
    except UserError as error:
        raise SystemExit(str(error)) from None
    rows = [row for threads in (1, 2) for row in measure(threads, 15, 200)]
    is_chosen = onednn.is_faster()
    print(record.write("products", rows, load=load, tokens=TOKENS, onednn_is_chosen=is_chosen))
    if broken := failures(rows, is_chosen):
        raise SystemExit("\n".join(broken))


def _times(product: Product) -> Contestant:
    def take(count: int) -> None:
        for _ in range(count):
            product()

    return take


if __name__ == "__main__":
    main()
