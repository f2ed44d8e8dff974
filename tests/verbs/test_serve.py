"""`vitruvius serve`: the printed address works, a port in use is told, other machines are warned about."""

import http.client
import socket
import threading
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import vitruvius
from tests.web import visitor
from vitruvius.cli import main
from vitruvius.core import files
from vitruvius.core.errors import UserError
from vitruvius.web import server


@pytest.fixture
def waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """End as soon as everything is said."""
    monkeypatch.setattr(server, "wait", lambda: None)


def _status(address: str) -> int:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=60)
    try:
        connection.request("GET", f"{parts.path}?{parts.query}")
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.usefixtures("waited")
def test_the_address_is_data_and_the_rest_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--no-browser", "--port", "0", "--runs", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("http://127.0.0.1:")
    assert "?token=" in out
    assert "Ctrl-C" in err


@pytest.mark.usefixtures("waited")
def test_a_port_in_use_is_told_and_the_next_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert main(["serve", "--no-browser", "--port", str(port), "--runs", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert f"port {port} is in use" in err
    assert f":{port}/" not in out


@pytest.mark.usefixtures("waited")
def test_another_host_is_warned_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["serve", "--no-browser", "--port", "0", "--runs", str(tmp_path)]
    assert main([*words, "--host", "0.0.0.0"]) == 0
    assert "reachable from other machines" in capsys.readouterr().err
    assert main(words) == 0
    assert "reachable" not in capsys.readouterr().err
    assert main([*words, "--host", "203.0.113.7"]) == 2
    assert "--host 203.0.113.7" in capsys.readouterr().err


def test_without_more_words_only_this_machine_is_served(tmp_path: Path) -> None:
    listener = server.open_port("127.0.0.1", 0)
    assert listener.getsockname()[0] == "127.0.0.1"
    listener.close()


def test_ctrl_c_ends_the_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: threading.Event, timeout: float | None = None) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Event, "wait", interrupted)
    server.wait()


def test_python_gets_the_address_and_the_server_ends_with_the_context(tmp_path: Path) -> None:
    with vitruvius.serve(runs=str(tmp_path), port=0) as address:
        assert _status(address) == 303
    with pytest.raises(OSError):
        _status(address)
    with (
        pytest.warns(UserWarning, match="reachable from other machines"),
        vitruvius.serve(runs=str(tmp_path), port=0, host="0.0.0.0"),
    ):
        pass
    with pytest.raises(UserError, match="prot"):
        vitruvius.serve(prot=1).__enter__()


def test_open_streams_do_not_keep_it(tmp_path: Path) -> None:
    folder = visitor.training(tmp_path, "alive", None)
    files.write_json(folder / ".holder", {"pid": 1, "host": "elsewhere"})
    before = set(threading.enumerate())
    with server.serving(server.open_port("127.0.0.1", 0), "127.0.0.1", tmp_path) as door:
        stream = socket.create_connection(("127.0.0.1", door.port), 60)
        head = f"GET /runs/{visitor.identity('train', 'alive')}/events HTTP/1.1\r\n"
        cookie = f"{door.cookie}={door.token}"
        stream.sendall(f"{head}Host: 127.0.0.1:{door.port}\r\nCookie: {cookie}\r\n\r\n".encode())
        received = b""
        while b"event: state" not in received:
            received += stream.recv(65536)
    stream.close()
    assert {thread.name for thread in set(threading.enumerate()) - before} <= {"page 1", "page 2"}
