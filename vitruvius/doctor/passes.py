"""Forward passes: what the one that is running has shown so far, and what is known of the last one."""

import weakref
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

MODAL = (_DropoutNd, _BatchNorm, nn.RNNBase, nn.MultiheadAttention)
"""Layers that may act differently in training and in eval mode."""


@dataclass(slots=True)
class LastForward:
    """The network that ran last and what it was given."""

    model: nn.Module | None = None
    args: tuple[Any, ...] = ()
    words: tuple[Any, ...] = ()  # what it was given by keyword
    x: Tensor | None = None
    rows: list[int] = field(default_factory=list)
    batch: int = 0
    grad: bool = False
    network: int = 0  # its key, 0 if none has run
    where: str = ""  # the line that called it
    is_derived: bool = False  # its input requires a gradient, as the fakes of a GAN do
    target: Tensor | None = None  # the first labels that its output was compared with

    def input_rows(self) -> int:
        """The rows of its first input, 0 if it has no batch axis."""
        return len(self.x) if self.x is not None and self.x.dim() else 0


@dataclass(frozen=True, slots=True)
class Compared:
    """Targets that a loss function was given."""

    name: str
    target: Tensor
    where: str
    ignored: int  # the label that does not count
    counts: bool  # the mean over all targets is taken, none is weighted or masked
    scores: Tensor | None = None  # what they were compared with, where it is looked at


@dataclass(slots=True)
class RunningModules:
    """What the modules of the forward pass that is running have shown so far."""

    inside_network: bool = False  # the outermost module is a network, not only a loss
    where: str = ""  # the line that called it, known at its end
    training: nn.Module | None = None  # the first modal layer in training mode
    eval: nn.Module | None = None  # the first modal layer in eval mode
    batch_norm: nn.Module | None = None  # the first BatchNorm in training mode
    first_input: Any = None  # as in `Forward`, or UNKNOWN
    first_layer: nn.Module | None = None  # the layer that was given it
    frozen_norm: nn.Module | None = None  # the first BatchNorm in training mode with frozen weights
    compared: list[Compared] = field(default_factory=list)
    """Losses computed inside the pass: they wait for the inputs, which are known at its end."""
    masks: list[tuple[str, str, weakref.ref[nn.Module] | None, Tensor]] = field(default_factory=list)
    """Masks (B, T) of attention, True where hidden, which wait for the tokens: argument, line, module."""

    def note_mode(self, module: nn.Module) -> None:
        """Note the mode of a layer that may act differently in training and in eval mode."""
        if isinstance(module, _DropoutNd) and module.p == 0:
            return
        if isinstance(module, nn.RNNBase | nn.MultiheadAttention) and module.dropout == 0:
            return
        if isinstance(module, _BatchNorm) and not module.track_running_stats:
            return
        if module.training:
            self.training = self.training or module
            if isinstance(module, _BatchNorm):
                self.batch_norm = self.batch_norm or module
                if module.weight is not None and not module.weight.requires_grad:
                    self.frozen_norm = self.frozen_norm or module
        else:
            self.eval = self.eval or module
