"""Search spaces: counted by brute force, refused with a sentence, their networks built as they say."""

import itertools
import json
from pathlib import Path

import pytest

from vitruvius.arch import spaces
from vitruvius.arch.spaces import Space
from vitruvius.core.errors import UserError

TINY = {
    "patch": [2, 4],
    "width": [6, 8],
    "depth": {"first": 1, "last": 3, "step": 1},
    "heads": [1, 2, 3, 4],
    "mlp_ratio": [1, 2],
}


def listed(space: Space, image: int) -> int:
    """The number of networks by listing them."""
    found = 0
    for patch, width, depth in itertools.product(
        *(space.values(name) for name in ("patch", "width", "depth"))
    ):
        if image % patch:
            continue
        heads = [count for count in space.values("heads") if space.values("head_dim") or width % count == 0]
        fields = {
            "heads": heads,
            "mlp_ratio": space.values("mlp_ratio"),
            "head_dim": space.values("head_dim") or (0,),
        }
        repeats = [int(depth) if name in space.per_layer else 1 for name in fields]
        found += len(
            list(
                itertools.product(
                    *(itertools.product(v, repeat=n) for v, n in zip(fields.values(), repeats, strict=True))
                )
            )
        )
    return found


@pytest.mark.parametrize("per_layer", [(), ("heads",), ("heads", "mlp_ratio")])
@pytest.mark.parametrize("dims", [{}, {"head_dim": [4, 8]}])
@pytest.mark.parametrize("image", [8, 6])
def test_the_number_of_networks_is_that_of_a_listing(
    per_layer: tuple[str, ...], dims: dict[str, list[int]], image: int
) -> None:
    space = Space(choices={**TINY, **dims}, per_layer=per_layer)
    assert space.count(image) == listed(space, image)


@pytest.mark.parametrize("name", spaces.names())
def test_every_space_that_ships_is_described_and_counted(name: str) -> None:
    space = spaces.get(name)
    assert space.summary
    assert space.count() > 1000
    if space.missing:
        with pytest.raises(UserError, match=f"space {name}: its networks need pooling between three stages"):
            spaces.drawable(name, 224)
    else:
        assert spaces.drawable(name, space.images[1] // 32 * 32).count() > 0


def test_the_public_pit_space_has_the_published_number() -> None:
    public = spaces.get("pit").public
    heads = [h for h in itertools.product(*public["num_heads"]) if h[1] % h[0] == 0 and h[2] % h[1] == 0]
    depths = list(itertools.product(*public["depth"]))
    count = len(public["base_dim"]) * len(public["mlp_ratio"]) * len(depths) * len(heads)
    assert spaces.get("pit").count() == count


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"choices": {"patch": [4]}}, "width, depth, heads, mlp_ratio are missing"),
        ({"choices": {**TINY, "width": [7.5]}}, "width needs whole numbers, got 7.5"),
        ({"choices": {**TINY, "heads": [5]}}, "no choice of heads divides"),
        ({"per_layer": ["head_dim"]}, "head_dim has no choices"),
        ({"fixed": {"width": 3}}, "width is chosen or comes from the data"),
        ({"fixed": {"poling": "mean"}}, "did you mean 'pooling'"),
        ({"choices": {**TINY, "depth": {"first": 3, "last": 1, "step": 1}}}, "last 1 is below first 3"),
        (
            {"choices": {**TINY, "depth": {"first": 1, "last": 10**5, "step": 0.1}}},
            "more than 10,000 choices",
        ),
        ({"colour": 1}, "colour"),
    ],
)
def test_a_faulty_file_is_refused_with_its_fault(
    tmp_path: Path, changes: dict[str, object], said: str
) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"choices": TINY, **changes}))
    with pytest.raises(UserError, match=said):
        spaces.get(str(path))


def test_unknown_names_and_images_without_patches_are_refused() -> None:
    with pytest.raises(UserError, match="did you mean 'small'"):
        spaces.get("smal")
    with pytest.raises(
        UserError, match=r"space small is empty for images of 31 pixels: no patch side \(2, 4, 7"
    ):
        spaces.drawable("small", 31)
