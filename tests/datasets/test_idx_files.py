"""Four idx files that do not belong together are refused, whatever their checksums."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from vitruvius.core.errors import UserError
from vitruvius.datasets import _idx

AsIdx = Callable[[NDArray[np.uint8]], bytes]


@pytest.mark.parametrize(
    ("images", "labels", "complaint"),
    [
        ((4, 2, 2), [0, 1, 2], "4 images but 3 labels"),
        ((3, 2, 2), [0, 1, 10], "label 10 at position 2"),
        ((3,), [0, 1, 2], "images have 3 dimensions"),
    ],
)
def test_images_and_labels_that_do_not_belong_together_are_refused(
    images: tuple[int, ...], labels: list[int], complaint: str, as_idx: AsIdx, tmp_path: Path
) -> None:
    good = [as_idx(np.zeros((3, 2, 2), np.uint8)), as_idx(np.arange(3, dtype=np.uint8))]
    bad = [as_idx(np.zeros(images, np.uint8)), as_idx(np.array(labels, np.uint8))]
    paths = [tmp_path / name for name in _idx.FILES]
    for path, content in zip(paths, good + bad, strict=True):
        path.write_bytes(content)
    known = _idx.Known("set", tuple("0123456789"), ("",) * 4, validation=1)
    with pytest.raises(UserError, match=complaint):
        _idx.load(known, paths, None)
