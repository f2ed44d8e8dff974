"""The rules of --arch auto: every side has a patch, more images get a larger network."""

import itertools
from typing import NamedTuple

import pytest

from vitruvius.arch import auto
from vitruvius.arch.arch import Arch
from vitruvius.arch.choice import ArchChoice


class Images(NamedTuple):
    """What a data set says about its images."""

    shape: tuple[int, ...]
    images: int
    name: str = "mine"
    classes: tuple[str, ...] = ("a", "b")


@pytest.mark.parametrize("side", auto.SIDES)
def test_every_side_is_cut_into_a_grid_of_4_to_14_patches(side: int) -> None:
    patch = auto.patch(side)
    assert side % patch == 0
    assert 4 <= side // patch <= 14


@pytest.mark.parametrize("side", [1, 7, 29, 4096])
def test_a_side_that_the_user_sets_has_a_patch_too(side: int) -> None:
    assert side % auto.patch(side) == 0


def test_no_pixel_is_invented_and_few_images_get_a_small_side() -> None:
    for median, images in itertools.product((8, 29, 33, 64, 100, 5000), (10, 9_999, 50_000, 10**6)):
        assert auto.image_side([median], images) <= median
    assert [auto.image_side([4000], count) for count in (9_999, 10_000, 100_000, 10**6)] == [64, 96, 160, 224]
    assert auto.image_side([10, 3000, 3000], 100) == 64  # the median, not the mean or the smallest
    assert auto.image_side([3], 100) == auto.image_side([], 100) == 8


def test_more_images_never_get_fewer_parameters() -> None:
    from vitruvius.arch import cost

    counts = (1, 4_999, 5_000, 19_999, 20_000, 199_999, 200_000, 10**7)
    params = [cost.cost(Arch(image=32, channels=3, **auto.network(32, count))).params for count in counts]
    assert params == sorted(params)
    assert len(set(params)) == len(auto.NETWORKS)


def test_auto_is_fitted_to_the_data_and_set_changes_it() -> None:
    arch = ArchChoice(arch="auto").resolve(Images((3, 8, 8), 1_400))
    assert (arch.image, arch.channels, arch.classes, arch.patch, arch.width) == (8, 3, 2, 2, 64)
    changed = ArchChoice(arch="auto", set=("patch=4", "depth=1")).resolve(Images((3, 8, 8), 1_400))
    assert (changed.patch, changed.depth, changed.width) == (4, 1, 64)
