"""Make the two sets of real images on which recipes are compared, as folders of PNG files.

    python -m benchmarks.images.make FOLDER

`digits`: the 1,797 handwritten digits of scikit-learn, 8 x 8 grey pixels, 10 classes. `tiles`: tiles of 64
x 64 pixels, without overlap, of 12 colour pictures that scikit-learn and scikit-image hold; the class is
the picture a tile comes from, so that classes are very unequal. Tiles without contrast are left out. Both
are divided into train, val and test (8 : 1 : 1), in proportion to the classes, by the seed 0.
"""

import argparse
import importlib.util
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vitruvius.core.errors import UserError
from vitruvius.datasets import stratified_order

SEED = 0
TILE = 64
CONTRAST = 4.0  # standard deviation of grey levels below which a tile is left out
PICTURES = {
    "sklearn": ("datasets/images", ("china.jpg", "flower.jpg")),
    "skimage": (
        "data",
        (
            *("astronaut.png", "chelsea.png", "coffee.png", "color.png", "hubble_deep_field.jpg", "ihc.png"),
            *("logo.png", "motorcycle_left.png", "retina.jpg", "rocket.jpg"),
        ),
    ),
}
Samples = Iterator[tuple[str, NDArray[np.uint8]]]


def digits() -> Samples:
    """Yield the digits of scikit-learn, scaled from 0..16 to 0..255."""
    from sklearn.datasets import load_digits

    found = load_digits()
    for image, label in zip(found.images, found.target, strict=True):
        yield str(label), (image * 255 / 16).round().astype(np.uint8)


def tiles() -> Samples:
    """Yield the tiles of all pictures."""
    for package, (folder, names) in PICTURES.items():
        for name in names:
            with Image.open(_folder(package) / folder / name) as image:
                pixels = np.asarray(image.convert("RGB"))
            for top in range(0, pixels.shape[0] - TILE + 1, TILE):
                for left in range(0, pixels.shape[1] - TILE + 1, TILE):
                    tile = pixels[top : top + TILE, left : left + TILE]
                    if tile.mean(2).std() >= CONTRAST:
                        yield name.partition(".")[0], tile


def write(folder: Path, samples: Samples) -> Counter[tuple[str, str]]:
    """Write samples as PNG files by part and class; return how many there are of each."""
    found = list(samples)
    order = stratified_order([label for label, _ in found], SEED)
    tenth = round(len(found) / 10)
    counts: Counter[tuple[str, str]] = Counter()
    for position, index in enumerate(order):
        label, pixels = found[index]
        part = "test" if position < tenth else "val" if position < 2 * tenth else "train"
        path = folder / part / label / f"{index:05}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels).save(path)
        counts[part, label] += 1
    return counts


def _folder(package: str) -> Path:
    """Return where a package lies, without importing it."""
    found = importlib.util.find_spec(package)
    places = list(found.submodule_search_locations or ()) if found else []
    if not places:
        name = {"sklearn": "scikit-learn", "skimage": "scikit-image"}[package]
        raise UserError(f"the pictures of {name} are needed: pip install {name}")
    return Path(places[0])


def main() -> None:
    """Write both sets and print their counts."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", choices=("digits", "tiles"))
    asked = parser.parse_args()
    for name, samples in (("digits", digits), ("tiles", tiles)):
        if asked.only in (None, name):
            counts = write(asked.folder / name, samples())
            classes = len({label for _, label in counts})
            parts = {part: sum(n for (one, _), n in counts.items() if one == part) for part, _ in counts}
            print(f"{name}: {sum(counts.values()):,} images of {classes} classes, {parts}")


if __name__ == "__main__":
    main()
