"""Half-precision inputs are computed in float32, because kernels sum many terms."""

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, cast

import torch
from torch import Tensor

P = ParamSpec("P")
HALF = (torch.float16, torch.bfloat16)


def in_full_precision(kernel: Callable[P, Tensor]) -> Callable[P, Tensor]:
    """Run a kernel on float32 copies of half-precision inputs, autocast off; the result has the queries' type."""

    @wraps(kernel)
    def run(*args: P.args, **options: P.kwargs) -> Tensor:
        q = cast(Tensor, args[0] if args else options["q"])
        if q.dtype not in HALF and not torch.is_autocast_enabled(q.device.type):
            return kernel(*args, **options)
        with torch.autocast(q.device.type, enabled=False):
            full = {name: _full(value) for name, value in options.items()}
            return cast(Any, kernel)(*map(_full, args), **full).to(q.dtype)

    return run


def _full(value: object) -> object:
    return value.float() if isinstance(value, Tensor) and value.dtype in HALF else value
