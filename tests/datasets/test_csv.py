"""Tables of pictures: columns, parts, and what is refused by its line."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from vitruvius import datasets
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset

Picture = Callable[..., None]


@pytest.fixture
def pictures(tmp_path: Path, picture: Picture) -> Path:
    for number in range(20):
        picture(tmp_path / "all" / f"{number}.png", seed=number)
    return tmp_path


def load(root: Path, *lines: str) -> Dataset:
    (root / "list.csv").write_text("\n".join(lines))
    return datasets.get("csv:list.csv@8", data_dir=str(root))


def test_a_table_gives_what_a_folder_of_the_same_pictures_gives(pictures: Path, picture: Picture) -> None:
    rows = [f"all/{number}.png,{'odd' if number % 2 else 'even'}" for number in range(20)]
    listed = load(pictures, "path,label", *rows)
    for number in range(20):
        picture(pictures / "folders" / ("odd" if number % 2 else "even") / f"{number}.png", seed=number)
    divided = datasets.get("folder:folders@8", data_dir=str(pictures))
    assert listed.classes == divided.classes == ("even", "odd")
    assert listed.class_counts() == divided.class_counts()
    every = [
        sorted(row.tobytes() for part in (d.train, d.validation, d.test) for row in part.x.numpy())
        for d in (listed, divided)
    ]
    assert every[0] == every[1]


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_columns_in_any_order_with_any_separator_and_a_part(pictures: Path, separator: str) -> None:
    rows = [
        ("Split", "x", "class", "Filename"),
        *(("train", "?", "a" if n % 2 else "b", f"all/{n}.png") for n in range(8)),
    ]
    rows += [("val", "?", "a", "all/8.png"), ("TEST", "?", "b", "all\\9.png"), ("", "", "", "")]
    data = load(pictures, *(separator.join(row) for row in rows))
    assert [len(part) for part in (data.train, data.validation, data.test)] == [8, 1, 1]
    assert data.classes == ("a", "b")
    assert data.validation.y is not None
    assert data.validation.y.tolist() == [0]


def test_without_labels(pictures: Path) -> None:
    data = load(pictures, "path", *(f"all/{number}.png" for number in range(20)))
    assert data.train.y is None
    assert len(data.train) == 16


def test_quotes_and_a_byte_order_mark(pictures: Path, picture: Picture) -> None:
    picture(pictures / "a, b.png", seed=50)
    (pictures / "list.csv").write_bytes('\ufeffpath,label\n"a, b.png",x\nall/1.png,y\n'.encode())
    data = datasets.get("csv:list.csv@8", data_dir=str(pictures), validation=0)
    assert data.classes == ("x", "y")
    assert not torch.equal(data.train.x[0], data.train.x[1])


@pytest.mark.parametrize(
    ("lines", "fault"),
    [
        ([], "line 1 must name the columns, as in path,label; it has nothing"),
        (["a,b", "x,y"], "line 1 must name the columns, as in path,label; it has a, b"),
        (["path,label"], "lists no pictures"),
        (["path,label", "all/1.png"], "line 2: 1 cells, a path and a label is needed"),
        (["path,label", "all/1.png,"], "no label for all/1.png"),
        (["path,label", "all/1.png,a", "all/1.png,b"], "line 3: all/1.png is also in line 2"),
        (["path,label", "../out.png,a"], "line 2: ../out.png lies outside"),
        (["path,label", "/etc/passwd.png,a"], "line 2: /etc/passwd.png lies outside"),
        (["path,label", "link.png,a"], "line 2: link.png lies outside"),
        (["path,label", "all/notes.txt,a"], "line 2: all/notes.txt is no picture by its ending"),
        (["path,label,part", "all/1.png,a,dev"], "line 2: part 'dev': train, val and test are possible"),
        (["path,label,part", "all/1.png,a,test"], "no picture has the part train"),
        (
            ["path,label,part", "all/1.png,a,train", "all/2.png,b,val"],
            "validation has b, which train has not",
        ),
        (["path,file,label", "all/1.png,a,b"], "several columns for the path"),
        (["path,label", '"all/1.png,a'], "line 2: "),
        (["path,label", "all/missing.png,a", "all/1.png,b"], "all/missing.png (not a plain file)"),
    ],
)
def test_faults_are_named_by_line(lines: list[str], fault: str, pictures: Path) -> None:
    (pictures / "link.png").symlink_to("/etc/hostname")
    with pytest.raises(UserError) as refusal:
        load(pictures, *lines)
    assert fault in str(refusal.value)


def test_other_encodings_are_refused_by_byte(pictures: Path) -> None:
    (pictures / "list.csv").write_bytes(b"path,label\nall/1.png,caf\xe9\n")
    with pytest.raises(UserError, match="byte 24: not UTF-8"):
        datasets.get("csv:list.csv", data_dir=str(pictures))
