"""Choose, train and understand Vision Transformers, before you spend the GPU hours."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vitruvius.arch.arch import Arch
    from vitruvius.doctor.diagnose import watch
    from vitruvius.nn.vit import ViT

__all__ = ["Arch", "ViT", "watch"]

_HOMES = {"Arch": "vitruvius.arch.arch", "ViT": "vitruvius.nn.vit", "watch": "vitruvius.doctor.diagnose"}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import vitruvius` itself brings in neither torch nor pydantic."""
    if name not in _HOMES:
        raise AttributeError(f"module 'vitruvius' has no attribute '{name}'")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
