"""People's own networks: named, built from the seed alone, faults told with the file."""

import random
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from vitruvius.core.errors import UserError
from vitruvius.ranking import user_models


def write(folder: Path, body: str, name: str = "mine.py") -> str:
    path = folder / name
    path.write_text(f"import torch\nfrom torch import nn\n{body}")
    return f"{path}:models"


LAYERS = """
built = []
def models():
    for width in (2, 3, 4):
        built.append(width)
        yield f"width {width}", nn.Linear(width, width)
"""


def weights(model: nn.Module) -> list[float]:
    return torch.cat([parameter.flatten() for parameter in model.parameters()]).tolist()


def test_a_network_depends_on_its_position_and_seed_alone(tmp_path: Path) -> None:
    found = user_models.networks(write(tmp_path, LAYERS))
    assert list(found) == ["width 2", "width 3", "width 4"]
    before = torch.get_rng_state()
    forwards = [weights(user_models.build(net, 1)) for net in found.values()]
    torch.rand(7)
    backwards = [weights(user_models.build(net, 1)) for net in reversed(found.values())]
    assert forwards == backwards[::-1]
    assert weights(user_models.build(found["width 4"], 2)) != forwards[2]
    torch.set_rng_state(before)
    assert [weights(user_models.build(net, 1)) for net in found.values()] == forwards
    assert (torch.get_rng_state() == before).all()


def test_a_dictionary_of_networks_is_taken_too(tmp_path: Path) -> None:
    body = "def models():\n    return {'a': nn.Linear(2, 1), 'b': nn.Linear(3, 1)}"
    found = user_models.networks(write(tmp_path, body, "named.py"))
    assert [len(weights(user_models.build(net, 1))) for net in found.values()] == [3, 4]


def test_one_after_another_each_is_built_once(tmp_path: Path) -> None:
    found = user_models.networks(write(tmp_path, LAYERS, "counted.py"))
    import sys

    built = sys.modules["vitruvius_own_counted"].built
    built.clear()
    for net in found.values():
        user_models.build(net, 0)
    assert built == [2, 3, 4]


def test_whatever_generator_draws_the_weights_they_come_from_the_seed(tmp_path: Path) -> None:
    drawn = "float(torch.rand(())), float(np.random.rand()), random.random()"
    body = (
        "import random\nimport numpy as np\ndef models():\n    net = nn.Linear(3, 1)\n    net.bias = None\n"
    )
    body += f"    net.weight.data[0] = torch.tensor([{drawn}])\n    yield 'a', net"
    (net,) = user_models.networks(write(tmp_path, body, "drawn.py")).values()
    before = random.getstate(), np.random.get_state(legacy=False)["state"]["key"].tolist()
    first = weights(user_models.build(net, 1))
    assert (random.getstate(), np.random.get_state(legacy=False)["state"]["key"].tolist()) == before
    random.random(), np.random.rand()
    assert weights(user_models.build(net, 1)) == first
    assert all(a != b for a, b in zip(weights(user_models.build(net, 2)), first, strict=True))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("def models():\n    yield 'a', 3", "item 1 is no pair of a name and a module: ('a', 3)"),
        ("def models():\n    yield nn.Linear(1, 1)", "item 1 is no pair"),
        (
            "def models():\n    yield 'a', nn.Linear(1, 1)\n    yield 'a', nn.Linear(1, 1)",
            "two networks named 'a'",
        ),
        ("def models():\n    yield from ()", "yields no network"),
        ("def models():\n    raise KeyError('x')", "KeyError: 'x'"),
        ("def models():\n    return 3", "TypeError: 'int' object is not iterable"),
        ("models = 3", "models is no function but int"),
        ("def modles(): pass", "did you mean 'modles'"),
        ("1 / 0", "could not be loaded: ZeroDivisionError"),
    ],
)
def test_faults_are_told_with_the_file(tmp_path: Path, body: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        user_models.networks(write(tmp_path, body))
    assert message in str(caught.value)
    assert "mine.py" in str(caught.value)


def test_a_file_without_a_function_is_told_how_to_write_it() -> None:
    with pytest.raises(UserError, match=r"write which function of the file is meant, mine.py:NAME"):
        user_models.networks("mine.py")
