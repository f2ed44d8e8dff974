"""Tar files of samples: the layout, the parts, and hostile members."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from vitruvius import datasets
from vitruvius.core.errors import UserError
from vitruvius.datasets import Dataset, shards

Picture = Callable[..., None]
Content = bytes | tarfile.TarInfo


@pytest.fixture
def png(tmp_path: Path, picture: Picture) -> Callable[[int], bytes]:
    def content(seed: int) -> bytes:
        picture(tmp_path / "one.png", seed=seed)
        return (tmp_path / "one.png").read_bytes()

    return content


def write(path: Path, members: list[tuple[str, Content]], mode: str = "w") -> None:
    path.parent.mkdir(exist_ok=True)
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, content in members:
            if isinstance(content, bytes):
                about = tarfile.TarInfo(name)
                about.size = len(content)
                archive.addfile(about, io.BytesIO(content))
            else:
                content.name = name
                archive.addfile(content)


def load(root: Path, pattern: str = "*.tar@8", **options: int) -> Dataset:
    return datasets.get(f"shards:{pattern}", data_dir=str(root), **options)  # type: ignore[arg-type]


def samples(png: Callable[[int], bytes], numbers: range) -> list[tuple[str, Content]]:
    pairs = [((f"{n:03}.png", png(n)), (f"{n:03}.cls", f"c{n % 2}\n".encode())) for n in numbers]
    return [member for pair in pairs for member in pair]


def test_shards_give_what_a_folder_of_the_same_pictures_gives(
    tmp_path: Path, png: Callable[[int], bytes], picture: Picture
) -> None:
    for shard in range(2):
        write(tmp_path / "s" / f"photos-{shard:03}.tar", samples(png, range(10 * shard, 10 * shard + 10)))
    for number in range(20):
        picture(tmp_path / "f" / f"c{number % 2}" / f"{number:03}.png", seed=number)
    tarred, folder = (
        load(tmp_path / "s", "photos-{000..001}.tar@8"),
        datasets.get(f"folder:{tmp_path / 'f'}@8"),
    )
    assert tarred.classes == folder.classes == ("c0", "c1")
    every = [
        sorted(row.tobytes() for part in (d.train, d.validation, d.test) for row in part.x.numpy())
        for d in (tarred, folder)
    ]
    assert every[0] == every[1]
    assert tarred.class_counts() == folder.class_counts()


def test_names_of_files_are_parts_and_json_holds_labels(tmp_path: Path, png: Callable[[int], bytes]) -> None:
    for part, first in (("train-0", 0), ("val-0", 10), ("test", 20)):
        members: list[tuple[str, Content]] = []
        for number in range(first, first + 4):
            members += [
                (f"d/{number}.seg.png" if number == 1 else f"d/{number}.png", png(number)),
                (f"d/{number}.json", f'{{"label": {number % 2}}}'.encode()),
            ]
        write(tmp_path / "s" / f"{part}.tar", [*members, (f"d/notes{first}.txt", b"hello")])
    data = load(tmp_path / "s")
    assert [len(part) for part in (data.train, data.validation, data.test)] == [4, 4, 4]
    assert data.classes == ("0", "1")
    assert data.files is not None
    assert data.files.foreign[0] == "test.tar/d/notes20.txt"


def special(kind: bytes, link: str = "") -> tarfile.TarInfo:
    about = tarfile.TarInfo()
    about.type, about.linkname = kind, link
    return about


@pytest.mark.parametrize(
    ("name", "content", "fault"),
    [
        ("/etc/x.png", b"x", "/etc/x.png leads out of the archive"),
        ("a/../../x.png", b"x", "a/../../x.png leads out of the archive"),
        ("..\\x.png", b"x", "leads out of the archive"),
        ("C:x.png", b"x", "leads out of the archive"),
        ("x.png", special(tarfile.SYMTYPE, "/etc/passwd"), "x.png is a link or a device"),
        ("x.png", special(tarfile.LNKTYPE, "000.png"), "x.png is a link or a device"),
        ("x.png", special(tarfile.CHRTYPE), "x.png is a link or a device"),
        ("x.png", b"no picture", "no label (.cls or .json) for a.tar/x.png"),
        ("000.png", b"again", "the members of 000 do not follow one another"),
        ("x.cls", b"label", "2 files unread"),
        ("009.jpg", b"x", "009 has 2 pictures, one is read"),
        ("009.json", b"{" * 100_000, "2 files unread"),
    ],
)
def test_hostile_members_are_refused(
    name: str, content: Content, fault: str, tmp_path: Path, png: Callable[[int], bytes]
) -> None:
    write(tmp_path / "s" / "a.tar", [*samples(png, range(10)), (name, content)])
    if fault == "2 files unread":  # of no consequence: a label without a picture, JSON beside a .cls
        assert sum(map(len, (lambda d: (d.train, d.validation, d.test))(load(tmp_path / "s")))) == 10
        return
    with pytest.raises(UserError) as refusal:
        load(tmp_path / "s")
    assert fault in str(refusal.value)


def test_labels_are_short_utf8_texts(tmp_path: Path, png: Callable[[int], bytes]) -> None:
    for label, fault in ((b"x" * 70_000, "70,000 bytes"), (b"\xff", "not UTF-8"), (b" \n", "no label")):
        write(tmp_path / "s" / "a.tar", [("0.png", png(0)), ("0.cls", label)])
        with pytest.raises(UserError, match=fault):
            load(tmp_path / "s")
    for label, fault in (
        (b"{" * 60_000, "0.json: "),
        (rb'{"label": "\ud800"}', "0.json: half of a surrogate"),
    ):
        write(tmp_path / "s" / "a.tar", [("0.png", png(0)), ("0.json", label)])
        with pytest.raises(UserError, match=fault):
            load(tmp_path / "s")


def test_files_that_are_cut_off_compressed_or_no_archives_are_refused(
    tmp_path: Path, png: Callable[[int], bytes]
) -> None:
    path = tmp_path / "s" / "a.tar"
    write(path, samples(png, range(4)), "w:gz")
    with pytest.raises(UserError, match="not an uncompressed tar file"):
        load(tmp_path / "s")
    path.write_bytes(b"hello" * 1000)
    with pytest.raises(UserError, match="not an uncompressed tar file"):
        load(tmp_path / "s")
    write(path, samples(png, range(4)))
    path.write_bytes(path.read_bytes()[:700])
    with pytest.raises(UserError, match="ends after the file|cut off"):
        load(tmp_path / "s")
    with pytest.raises(UserError, match="no file matches"):
        load(tmp_path / "s", "none-*.tar")


def test_too_many_members_and_too_many_shards_are_refused(
    tmp_path: Path, png: Callable[[int], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "s" / "a.tar", samples(png, range(4)))
    monkeypatch.setattr(shards, "MEMBER_LIMIT", 7)
    with pytest.raises(UserError, match="more than 7 members"):
        load(tmp_path / "s")
    with pytest.raises(UserError, match="must count up to at most 100,000 files"):
        load(tmp_path / "s", "a-{0..999999}.tar")


def test_some_files_with_a_part_and_some_without_are_refused(
    tmp_path: Path, png: Callable[[int], bytes]
) -> None:
    for name in ("train-0", "more"):
        write(tmp_path / "s" / f"{name}.tar", samples(png, range(4)))
    with pytest.raises(UserError, match="of some files the part is not known: more.tar"):
        load(tmp_path / "s")
