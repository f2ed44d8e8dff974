"""Downloads from a server on this machine that breaks off, lies, stalls and is asked twice at once."""

import gzip
import hashlib
import multiprocessing
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from vitruvius import datasets
from vitruvius.core.errors import WorkFailed
from vitruvius.datasets import _download, cifar, fashion_mnist

CONTENT = np.random.default_rng(0).bytes(600_000)
LIMIT = 1_000_000


class Server(ThreadingHTTPServer):
    """Serves `files`; its first `breaks` answers end after half of the bytes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {"/file": CONTENT}
        self.breaks = 0
        self.failures = 0
        self.has_ranges = True
        self.stall = 0.0  # seconds between the two halves
        self.is_closing = threading.Event()
        self.ranges: list[str] = []  # of each request, '' for a whole file
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """One answer, as the server's settings say."""

    server: Server

    def do_GET(self) -> None:
        server, wanted = self.server, self.headers.get("Range", "")
        server.ranges.append(wanted)
        content = server.files.get(self.path)
        if server.failures:
            server.failures -= 1
            return self.send_error(503)
        if content is None:
            return self.send_error(404)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and server.has_ranges else 0
        if start >= len(content):
            return self.send_error(416)
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        middle = (start + len(content)) // 2
        self.wfile.write(content[start:middle])
        if server.breaks:
            server.breaks -= 1
            return None
        self.wfile.flush()
        server.is_closing.wait(server.stall)
        self.wfile.write(content[middle:])
        return None

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""

    def handle(self) -> None:
        with suppress(ConnectionError):  # the client was killed
            super().handle()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr(_download, "PAUSES", (0.0, 0.0))
    monkeypatch.delenv("VITRUVIUS_OFFLINE")
    server = Server()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.is_closing.set()
    server.shutdown()
    thread.join()
    server.server_close()


def check(content: bytes = CONTENT) -> partial[None]:
    known = cifar.Archive("file", len(content), hashlib.sha256(content).hexdigest())
    return partial(cifar.check_archive, archive=known)


def test_a_file_arrives_whole_and_leaves_no_part(server: Server, tmp_path: Path) -> None:
    target = tmp_path / "cache" / "file"
    _download.fetch(f"{server.url}/file", target, check(), LIMIT)
    assert target.read_bytes() == CONTENT
    assert sorted(path.name for path in target.parent.iterdir()) == ["file", "file.lock"]


def test_a_broken_stream_continues_where_it_stopped(server: Server, tmp_path: Path) -> None:
    server.breaks = 2
    _download.fetch(f"{server.url}/file", tmp_path / "file", check(), LIMIT)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.ranges == ["", "bytes=300000-", "bytes=450000-"]


def test_after_three_broken_streams_the_next_call_continues(server: Server, tmp_path: Path) -> None:
    server.breaks = 3
    with pytest.raises(WorkFailed, match="broke 75,000 bytes before the end; the next call continues"):
        _download.fetch(f"{server.url}/file", tmp_path / "file", check(), LIMIT)
    assert not (tmp_path / "file").exists()
    _download.fetch(f"{server.url}/file", tmp_path / "file", check(), LIMIT)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.ranges[-1] == "bytes=525000-"


def test_a_server_without_ranges_starts_again(server: Server, tmp_path: Path) -> None:
    server.has_ranges = False
    (tmp_path / "file.part").write_bytes(CONTENT[:1000])
    _download.fetch(f"{server.url}/file", tmp_path / "file", check(), LIMIT)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.ranges == ["bytes=1000-"]


def test_a_complete_part_needs_no_more_bytes(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(CONTENT)
    _download.fetch(f"{server.url}/file", tmp_path / "file", check(), LIMIT)
    assert server.ranges == ["bytes=600000-"]
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_part_of_something_else_is_thrown_away(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.part").write_bytes(bytes(1000))
    _download.fetch(f"{server.url}/file", tmp_path / "file", check(), LIMIT)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.ranges == ["bytes=1000-", ""]


def test_a_wrong_file_is_deleted_and_both_hashes_are_named(server: Server, tmp_path: Path) -> None:
    server.files["/file"] = bytes(600_000)
    with pytest.raises(WorkFailed) as failure:
        _download.fetch(f"{server.url}/file", tmp_path / "file", check(), LIMIT)
    for content in (CONTENT, bytes(600_000)):
        assert hashlib.sha256(content).hexdigest() in str(failure.value)
    assert [path.name for path in tmp_path.iterdir()] == ["file.lock"]


def test_more_bytes_than_expected_are_cut_off(server: Server, tmp_path: Path) -> None:
    with pytest.raises(WorkFailed, match="sends more than 1,000 bytes"):
        _download.fetch(f"{server.url}/file", tmp_path / "file", check(), 1000)
    assert not (tmp_path / "file.part").exists()


def test_a_refusal_is_final_and_an_overload_is_not(server: Server, tmp_path: Path) -> None:
    with pytest.raises(WorkFailed, match="404"):
        _download.fetch(f"{server.url}/nothing", tmp_path / "file", check(), LIMIT)
    assert len(server.ranges) == 1
    server.failures = 2
    _download.fetch(f"{server.url}/file", tmp_path / "file", check(), LIMIT)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_no_server_is_a_clear_failure(server: Server, tmp_path: Path) -> None:
    with pytest.raises(WorkFailed, match=f"could not download .* put the file into {tmp_path} yourself"):
        _download.fetch("http://127.0.0.1:9/file", tmp_path / "file", check(), LIMIT)


def test_a_server_that_falls_silent_counts_as_broken(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_download, "TIMEOUT", 0.1)
    server.stall = 30.0
    with pytest.raises(WorkFailed, match="could not download .* timed out"):
        _download.fetch(f"{server.url}/file", tmp_path / "file", check(), LIMIT)
    with (
        socket.create_server(("127.0.0.1", 0)) as mute,
        pytest.raises(WorkFailed, match="could not download .* timed out"),
    ):
        _download.fetch(f"http://127.0.0.1:{mute.getsockname()[1]}/file", tmp_path / "other", check(), LIMIT)


def test_a_cache_that_cannot_be_written_is_named(server: Server, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way")
    with pytest.raises(WorkFailed, match="cannot write .*XDG_CACHE_HOME"):
        _download.fetch(f"{server.url}/file", tmp_path / "cache" / "file", check(), LIMIT)


def test_two_processes_at_once_download_once(server: Server, tmp_path: Path) -> None:
    server.stall = 0.5
    context = multiprocessing.get_context("spawn")
    arguments = (f"{server.url}/file", tmp_path / "file", check(), LIMIT)
    processes = [context.Process(target=_download.fetch, args=arguments) for _ in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(30)
    assert [process.exitcode for process in processes] == [0, 0]
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.ranges == [""]


def test_a_killed_process_frees_the_lock_and_its_bytes_are_used(server: Server, tmp_path: Path) -> None:
    server.stall = 30.0
    part = tmp_path / "file.part"
    arguments = (f"{server.url}/file", tmp_path / "file", check(), LIMIT)
    process = multiprocessing.get_context("spawn").Process(target=_download.fetch, args=arguments)
    process.start()
    deadline = time.monotonic() + 300
    while not (part.exists() and part.stat().st_size) and time.monotonic() < deadline:
        time.sleep(0.01)
    process.kill()
    process.join(30)
    kept = part.stat().st_size
    assert 0 < kept < len(CONTENT)
    server.stall = 0.0
    _download.fetch(*arguments)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert server.ranges[-1] == f"bytes={kept}-"


def test_fashion_mnist_is_downloaded_once_into_the_cache(
    server: Server, tiny_fashion: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    originals = tiny_fashion(tmp_path / "originals")
    server.files = {f"/{path.name}.gz": gzip.compress(path.read_bytes()) for path in originals.iterdir()}
    monkeypatch.setattr(fashion_mnist, "MIRROR", server.url)
    first = datasets.get("fashion_mnist")
    assert str(tmp_path / "cache" / "vitruvius" / "fashion_mnist") in first.source
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert datasets.get("fashion_mnist").sha256 == first.sha256
    assert len(server.ranges) == 4


def test_cifar_is_downloaded_as_an_archive(
    server: Server,
    tiny_cifar_archive: Callable[[Path, str], Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    archive = tiny_cifar_archive(tmp_path / "originals", "10")
    server.files = {f"/{archive.name}": archive.read_bytes()}
    monkeypatch.setattr(cifar, "HOST", server.url)
    data = datasets.get("cifar")
    assert data.source.endswith(str(tmp_path / "cache" / "vitruvius" / "cifar" / archive.name))
    assert len(data.test) == 20
