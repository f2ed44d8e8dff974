"""Zalando's clothes, 60,000 + 10,000 of 28x28 pixels (Xiao et al. 2017); `fashion_mnist:mini` ships.

The full set is looked for in the data folder, $VITRUVIUS_DATA, the folders of Debian and Keras and the cache,
and is downloaded if the network may be used.
"""

from functools import partial
from pathlib import Path

from vitruvius.core import cache
from vitruvius.core.errors import unknown
from vitruvius.datasets import Dataset, _download, _idx, _paths

SHIPPED = Path(__file__).parent / "fashion_mnist_mini"
MIRROR = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"
KNOWN_FOLDERS = ("/usr/share/datasets/fashion-mnist", "~/.keras/datasets/fashion-mnist")
PARTS = ("full", "mini", "any")
CLASSES = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)
FULL = _idx.Known(
    "fashion_mnist",
    CLASSES,
    (
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ),
    validation=5_000,
)
MINI = _idx.Known(
    "fashion_mnist (mini)",
    CLASSES,
    (
        "a7e53275975bcefa1ef1bcac502fe6f5e4fd01774d43792f4a839144acf524f3",
        "9f361592fa79786ffb0f262ede3ea19f20772797efa627328326451c74b21126",
        "7cee33c3c6414b1b86c25e665a6c4f41584269de3b7cc9768b1d351922845eef",
        "3128d790775889812b73c4f13923559c8b9e281d112c6ea7862acf60a206a909",
    ),
    validation=200,
    part="mini",
)


def fashion_mnist(
    part: str = "full", *, data_dir: str | None = None, validation: int | None = None, seed: int = 0
) -> Dataset:
    """Load Fashion-MNIST: `full`, `mini` (100 images per class and split), or `any`: full if found or mini.

    55,000 / 5,000 / 10,000 (mini: 800 / 200 / 1,000) by position, so `seed` changes nothing.
    """
    if part not in PARTS:
        raise unknown("part of fashion_mnist", part, PARTS)
    names = [_idx.spellings(name) for name in _idx.FILES]
    subfolders = ("FashionMNIST/raw", "fashion-mnist", "fashion_mnist")
    folders = _paths.folders("fashion_mnist", subfolders, KNOWN_FOLDERS, data_dir)
    paths = None if part == "mini" else _paths.find(folders, names)
    if paths is not None:
        return _idx.load(FULL, paths, validation)
    if part == "mini" or (part == "any" and data_dir is None):
        return _idx.load(MINI, [SHIPPED / f"{name}.gz" for name in _idx.FILES], validation)
    if data_dir is not None or _paths.offline():
        raise _paths.not_found("fashion_mnist", folders, names, "fashion_mnist:mini ships with the package")
    paths = [cache.folder("fashion_mnist") / f"{name}.gz" for name in _idx.FILES]
    for path, sha256 in zip(paths, FULL.sha256, strict=True):
        _download.fetch(f"{MIRROR}/{path.name}", path, partial(_idx.read, sha256=sha256), _idx.LIMIT)
    return _idx.load(FULL, paths, validation)
