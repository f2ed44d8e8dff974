"""Members of an archive: what is refused although the checksum fits."""

import hashlib
import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

from vitruvius.core.errors import UserError
from vitruvius.datasets import cifar


def _archive_of(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> cifar.Archive:
    with tarfile.open(path, "w:gz") as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return _known(path)


def _known(path: Path) -> cifar.Archive:
    content = path.read_bytes()
    return cifar.Archive(path.name, len(content), hashlib.sha256(content).hexdigest())


def _member(name: str, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type = kind
    info.linkname = "/etc/passwd" if kind == tarfile.SYMTYPE else ""
    return info


def test_links_and_wrong_sizes_in_an_archive_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    known = _archive_of(path, (_member("d/x", tarfile.SYMTYPE), b""))
    with pytest.raises(UserError, match="d/x is not a plain file of 3 bytes"):
        cifar.read_archive(path, known, {"d/x": 3})
    known = _archive_of(path, (_member("d/x"), b"four"))
    with pytest.raises(UserError, match="d/x is not a plain file of 3 bytes"):
        cifar.read_archive(path, known, {"d/x": 3})


def test_archives_with_missing_or_too_many_members_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    known = _archive_of(path, (_member("../d/x"), b"abc"))
    with pytest.raises(UserError, match="has no member d/x"):
        cifar.read_archive(path, known, {"d/x": 3})
    known = _archive_of(path, *((_member(str(number)), b"") for number in range(65)))
    with pytest.raises(UserError, match="more than 64 members"):
        cifar.read_archive(path, known, {"d/x": 3})


def test_truncated_archive_is_refused_even_if_its_checksum_fits(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    _archive_of(path, (_member("d/x"), np.random.default_rng(0).bytes(50_000)))
    path.write_bytes(path.read_bytes()[:-20_000])
    with pytest.raises(UserError, match="cannot be read|ends after"):
        cifar.read_archive(path, _known(path), {"d/x": 50_000})
