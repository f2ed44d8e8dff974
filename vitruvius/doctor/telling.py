"""Reports from hooks to the watcher, which never fail into the user's script."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from torch._C import _is_tracing
from torch._C._functorch import peek_interpreter_stack

from vitruvius.checks import Event

if TYPE_CHECKING:
    from vitruvius.doctor.watcher import Watcher


def tell(
    watcher: "Watcher", kinds: Iterable[type[Event]], report: Callable[..., Any], *args: Any, **kw: Any
) -> Any:
    """Report to the watcher. An error in there is the watcher's: events of these kinds are then unknown."""
    if watcher.busy or _is_tracing():
        return None
    try:
        if peek_interpreter_stack() is not None:
            raise TypeError("it runs inside a transform of torch.func (vmap, grad, ...)")
        return report(*args, **kw)
    except Exception as error:
        for kind in kinds:
            watcher.trace.lose(kind.__name__, error)
        return None
