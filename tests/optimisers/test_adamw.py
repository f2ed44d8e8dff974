"""Which parameters are pulled towards zero."""

from vitruvius.arch.arch import Arch
from vitruvius.nn.vit import build
from vitruvius.optimisers.adamw import adamw


def test_only_the_matrices_of_linear_maps_decay() -> None:
    model = build(Arch(image=8, patch=4, width=8, depth=1, heads=2, mlp=8), seed=0)
    decaying, others = adamw(model, 1e-3, 0.05).param_groups
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    assert {names[id(parameter)] for parameter in decaying["params"]} == {
        "patch_map.weight",
        "layers.0.attention.qkv.weight",
        "layers.0.attention.out.weight",
        "layers.0.mlp.0.weight",
        "layers.0.mlp.3.weight",
        "head.weight",
    }
    assert (decaying["weight_decay"], others["weight_decay"]) == (0.05, 0.0)
    assert len(decaying["params"]) + len(others["params"]) == len(names)
