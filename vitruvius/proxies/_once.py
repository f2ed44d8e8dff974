"""One network and one minibatch: the passes that proxies share, each made when first asked for.

Shapes: B batch, b the first images of it, H heads, N tokens, P numbers in a parameter.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cached_property

import torch
from torch import Generator, Tensor, nn

from vitruvius.core.errors import UserError
from vitruvius.proxies import _attention, _borrowed, _flow, _passes, _roles
from vitruvius.proxies._watch import Watch

FIRST_IMAGES = 16
"""How many images are compared with one another (input_jacobian, tangent_kernel)."""
HELD_NUMBERS = 2**28
"""How many numbers of the images' gradients are held at a time; larger networks take several rounds."""


class OnePass:
    """A network, a minibatch and a seed, with parts that are computed once and shared."""

    def __init__(self, model: nn.Module, x: Tensor, y: Tensor, seed: int = 0) -> None:
        self.model, self.x, self.y, self.seed = model, x.detach(), y, seed

    @cached_property
    def leaves(self) -> dict[str, Tensor]:
        """The network's own parameters by name, to differentiate in, inside `borrowed`."""
        return dict(self.model.named_parameters())

    @cached_property
    def parameters(self) -> dict[str, Tensor]:
        """The values of all parameters by name."""
        return {name: leaf.detach() for name, leaf in self.leaves.items()}

    @cached_property
    def matrices(self) -> dict[str, Tensor]:
        """Of these the weights of linear maps, convolutions and attention projections."""
        return {name: self.parameters[name] for name in _roles.matrices(self.model)}

    def borrowed(self) -> AbstractContextManager[None]:
        """Inside, the network may run: in evaluation mode, differentiable, seeded. Afterwards it is as it was."""
        return _borrowed.borrowed(self.model, self.seed)

    def seeded(self) -> AbstractContextManager[None]:
        """Inside, the global generators of torch, numpy and Python start at the seed; afterwards they are as before."""
        return _borrowed.seeded(self.seed)

    def fresh_copy(self) -> nn.Module:
        """A deep copy of the network, to be changed at will, in evaluation mode."""
        return _borrowed.fresh_copy(self.model)

    def generator(self) -> Generator:
        """A generator that starts at the seed, for what a proxy draws."""
        return torch.Generator().manual_seed(self.seed)

    def class_scores(self, x: Tensor) -> Tensor:
        """Logits by a forward pass of its own, inside `borrowed`."""
        return _passes.class_scores(self.model, x)

    @property
    def loss(self) -> Tensor:
        """Mean cross-entropy of the minibatch, a scalar."""
        return self._forward[0].detach()

    @property
    def activations(self) -> Watch:
        """Activations of the minibatch by role: `linear`, `nonlinear`, `residual`; their graph is kept."""
        return self._forward[1]

    @property
    def gradients(self) -> dict[str, Tensor]:
        """Gradients of the loss by parameter name; zero for parameters that take no part."""
        found = self._backward
        return {name: found[name] for name in self.leaves}

    @property
    def activation_gradients(self) -> list[Tensor]:
        """Gradients of the loss in the outputs of `activations.linear`."""
        return [self._backward[f"output {index}"] for index in range(len(self.activations.linear))]

    @cached_property
    def halves(self) -> tuple[dict[str, Tensor], ...]:
        """Gradients of the loss of the first and of the second half of the minibatch."""
        if len(self.x) < 2:
            raise UserError(f"a minibatch of {len(self.x)} image has no two halves")
        halves = zip(self.x.tensor_split(2), self.y.tensor_split(2), strict=True)
        with self.borrowed():
            return tuple(_passes.gradients(_passes.loss(self.model, x, y), self.leaves) for x, y in halves)

    @cached_property
    def input_jacobian(self) -> Tensor:
        """For each of the first images the gradient of the sum of its class scores in its pixels, (b, pixels)."""
        pixels = self.x[:FIRST_IMAGES].clone().requires_grad_(True)
        with self.borrowed():
            return _passes.gradients(self.class_scores(pixels).sum(), {"pixels": pixels})["pixels"].flatten(1)

    @cached_property
    def tangent_kernel(self) -> Tensor:
        """Products between the first images' gradients of the sum of their class scores, (b, b), float64."""
        images = self.x[:FIRST_IMAGES, None].unbind()
        kernel_bb = torch.zeros(len(images), len(images), dtype=torch.float64)
        with self.borrowed():
            for group in self._groups(HELD_NUMBERS // len(images)):
                rows = [_passes.gradients(self.class_scores(image).sum(), group) for image in images]
                for name in group:
                    row_bP = torch.stack([row.pop(name).flatten() for row in rows])
                    kernel_bb += (row_bP @ row_bP.T).to(kernel_bb)
        return kernel_bb

    @cached_property
    def attention_weights(self) -> list[Tensor]:
        """The attention weights of every layer, (B, H, N, N)."""
        with self.borrowed(), torch.no_grad(), _attention.recorded(self.model) as weights:
            self.class_scores(self.x)
        if not weights:
            raise UserError("the network has no attention modules (ours or nn.MultiheadAttention)")
        return weights

    @cached_property
    def flow(self) -> _flow.Flow:
        """The pass on an image of ones through absolute weights, on a copy of the network."""
        copy = self.fresh_copy()
        with _borrowed.borrowed(copy, self.seed):
            return _flow.flow(copy, torch.ones_like(self.x[:1]))

    @cached_property
    def _forward(self) -> tuple[Tensor, Watch]:
        with self.borrowed(), Watch() as seen:
            return _passes.loss(self.model, self.x, self.y), seen

    @cached_property
    def _backward(self) -> dict[str, Tensor]:
        """Gradients of all parameters and of the outputs of all linear maps, in one pass."""
        loss, seen = self._forward
        outputs = {f"output {index}": call.output for index, call in enumerate(seen.all_linear)}
        with self.borrowed():  # a network may recompute its activations here
            return _passes.gradients(loss, {**self.leaves, **outputs})

    def _groups(self, limit: int) -> Iterator[dict[str, Tensor]]:
        """The parameters in groups of at most so many numbers, or single ones that are larger."""
        group: dict[str, Tensor] = {}
        for name, parameter in self.leaves.items():
            if group and sum(map(Tensor.numel, group.values())) + parameter.numel() > limit:
                yield group
                group = {}
            group[name] = parameter
        yield group
