"""One network and one minibatch: the passes that proxies share, each computed when first used.

Shapes: B batch, b its first images, H heads, N tokens, P entries of a parameter.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from functools import cached_property

import torch
from torch import Generator, Tensor, nn

from vitruvius.core.errors import UserError
from vitruvius.nn.attention import in_full
from vitruvius.proxies import _activations, _layers, _passes, _preserve
from vitruvius.proxies._activations import Activations

FIRST_IMAGES = 16  # images compared with one another (input_jacobian, tangent_kernel)
LARGEST_GRADIENTS = 2**28
"""Entries of per-image gradients held in memory at a time; larger networks take several rounds."""


class OnePass:
    """A network, a minibatch and a seed, with parts that are computed once and shared."""

    def __init__(self, model: nn.Module, x: Tensor, y: Tensor, seed: int = 0) -> None:
        self.model, self.x, self.y, self.seed = model, x.detach(), y, seed

    @cached_property
    def leaves(self) -> dict[str, Tensor]:
        """The network's parameters by name, to differentiate with respect to inside `preserved`."""
        return dict(self.model.named_parameters())

    @cached_property
    def parameters(self) -> dict[str, Tensor]:
        """The values of all parameters by name."""
        return {name: leaf.detach() for name, leaf in self.leaves.items()}

    @cached_property
    def matrices(self) -> dict[str, Tensor]:
        """The values of the weights of linear maps, convolutions and attention projections by name."""
        return {name: self.parameters[name] for name in _layers.matrices(self.model)}

    def preserved(self) -> AbstractContextManager[None]:
        """A context to run the network in: evaluation mode, differentiable, seeded; its state is restored."""
        return _preserve.preserved(self.model, self.seed)

    def seeded(self) -> AbstractContextManager[None]:
        """A context in which the global generators of torch, numpy and Python start at the seed."""
        return _preserve.seeded(self.seed)

    def fresh_copy(self) -> nn.Module:
        """A deep copy of the network in evaluation mode, which the caller may change."""
        return _preserve.fresh_copy(self.model)

    def generator(self) -> Generator:
        """A generator that starts at the seed, for the random numbers of a proxy."""
        return torch.Generator().manual_seed(self.seed)

    def class_scores(self, x: Tensor) -> Tensor:
        """The logits of another forward pass, to be called inside `preserved`."""
        return _passes.class_scores(self.model, x)

    @property
    def loss(self) -> Tensor:
        """Mean cross-entropy of the minibatch, a scalar."""
        return self._forward[0].detach()

    @property
    def activations(self) -> Activations:
        """Activations of the minibatch by role, with their graph: `linear`, `nonlinear`, `residual`."""
        return self._forward[1]

    @property
    def gradients(self) -> dict[str, Tensor]:
        """Gradients of the loss by parameter name; zero for parameters without influence."""
        found = self._backward
        return {name: found[name] for name in self.leaves}

    @property
    def activation_gradients(self) -> list[Tensor]:
        """Gradients of the loss with respect to the outputs of `activations.linear`."""
        return [self._backward[f"output {index}"] for index in range(len(self.activations.linear))]

    @cached_property
    def halves(self) -> tuple[dict[str, Tensor], ...]:
        """Gradients of the loss of the first and of the second half of the minibatch, by parameter name."""
        if len(self.x) < 2:
            raise UserError(f"a minibatch of {len(self.x)} image has no two halves")
        halves = zip(self.x.tensor_split(2), self.y.tensor_split(2), strict=True)
        with self.preserved():
            return tuple(_passes.gradients(_passes.loss(self.model, x, y), self.leaves) for x, y in halves)

    @cached_property
    def input_jacobian(self) -> Tensor:
        """Gradient of each first image's summed class scores with respect to its pixels, (b, pixels)."""
        pixels = self.x[:FIRST_IMAGES].clone().requires_grad_(True)
        with self.preserved():
            return _passes.gradients(self.class_scores(pixels).sum(), {"pixels": pixels})["pixels"].flatten(1)

    @cached_property
    def tangent_kernel(self) -> Tensor:
        """Inner products of the first images' parameter gradients of summed class scores, (b, b), float64."""
        images = self.x[:FIRST_IMAGES, None].unbind()
        kernel_bb = torch.zeros(len(images), len(images), dtype=torch.float64)
        with self.preserved():
            for group in self._groups(LARGEST_GRADIENTS // len(images)):
                rows = [_passes.gradients(self.class_scores(image).sum(), group) for image in images]
                for name in group:
                    row_bP = torch.stack([row.pop(name).flatten() for row in rows])
                    kernel_bb += (row_bP @ row_bP.T).to(kernel_bb)
        return kernel_bb

    @cached_property
    def attention_weights(self) -> list[Tensor]:
        """The attention weights of every layer, (B, H, N, N)."""
        if not _layers.attention(self.model):
            weights = [call.weights for call in self.activations.all_attention]
            if not weights:
                raise UserError("the network has no attention that can be seen")
            return weights
        with self.preserved(), torch.no_grad(), _activations.attention_weights(self.model) as weights:
            self.class_scores(self.x)
        return weights

    @property
    def layer_widths(self) -> list[int]:
        """The token width of every encoder layer (one per attention operation).

        A network without attention counts its linear maps and convolutions, each with its outputs.
        """
        found = _layers.attention_widths(self.model)
        if not found:
            seen = self.activations
            maps = [seen.projections(call) for call in seen.all_attention]
            found = [one[0].input.shape[-1] if one else 0 for one in maps]
        return found or [len(weight) for weight in self.matrices.values()]

    @cached_property
    def token_entropies(self) -> list[float]:
        """The entropy of the tokens' principal components after each residual step."""
        outputs = (step.output.detach() for step in self.activations.residual)
        return [_activations.token_entropy(_activations.token_rows(output)) for output in outputs]

    @cached_property
    def flow(self) -> _passes.SynapticFlow:
        """Absolute weights and gradients of a pass on an image of ones, on a copy of the network."""
        copy = self.fresh_copy()
        with _preserve.preserved(copy, self.seed):
            return _passes.synaptic_flow(copy, torch.ones_like(self.x[:1]))

    @cached_property
    def _forward(self) -> tuple[Tensor, Activations]:
        with self.preserved(), in_full(self.model), Activations() as seen:
            return _passes.loss(self.model, self.x, self.y), seen

    @cached_property
    def _backward(self) -> dict[str, Tensor]:
        """Gradients with respect to all parameters and the outputs of all linear maps, in one pass."""
        loss, seen = self._forward
        outputs = {f"output {index}": call.output for index, call in enumerate(seen.all_linear)}
        with self.preserved():  # a network may recompute its activations here
            return _passes.gradients(loss, {**self.leaves, **outputs})

    def _groups(self, limit: int) -> Iterator[dict[str, Tensor]]:
        """Yield the parameters in groups of at most `limit` entries; a larger one is a group of its own."""
        group: dict[str, Tensor] = {}
        for name, parameter in self.leaves.items():
            if group and sum(map(Tensor.numel, group.values())) + parameter.numel() > limit:
                yield group
                group = {}
            group[name] = parameter
        yield group
