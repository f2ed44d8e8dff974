"""Strangers are refused: by Host, Origin, token, method, size, time; names never become markup or paths."""

import asyncio
import os
import re
import socket
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import Message

from tests.web import visitor
from tests.web.visitor import HOSTILE, Visitor, identity
from vitruvius.core.errors import UserError
from vitruvius.render.policy import hashed
from vitruvius.web import security, server
from vitruvius.web.app import application
from vitruvius.web.security import Door, Guard
from vitruvius.web.workers import Workers

PATIENCE = 30.0
"""Seconds after which what does not happen is a failure."""
PAGES = ("/", "/lessons", "/runs", "/look", "/static/site/site.css")


@pytest.fixture(scope="module")
def stranger(site: Visitor) -> Visitor:
    return Visitor(site.door, site.runs, cookie=False)


@pytest.mark.parametrize("path", PAGES)
def test_nothing_is_shown_without_the_token(path: str, stranger: Visitor) -> None:
    answer = stranger.ask(path)
    assert answer.status == 401
    assert "vitruvius serve" in answer.text
    assert stranger.ask(f"{path}?token=wrong").status == 401
    assert stranger.ask(path, Cookie=f"{stranger.door.cookie}=wrong").status == 401
    assert stranger.ask(path, "POST", b"", Cookie="").status == 401


def test_the_printed_address_gives_a_cookie_that_other_sites_cannot_use(stranger: Visitor) -> None:
    answer = stranger.ask(f"/lessons/attention?step=1&token={stranger.door.token}")
    assert answer.status == 303
    assert answer.headers["location"] == "/lessons/attention?step=1"
    name, *marks = answer.headers["set-cookie"].split("; ")
    assert name == f"vitruvius-{stranger.door.port}={stranger.door.token}"
    assert set(marks) == {"Path=/", "HttpOnly", "SameSite=Strict"}
    assert stranger.ask("/lessons", Cookie=name).status == 200


def test_the_token_leads_to_no_other_host(stranger: Visitor) -> None:
    answer = stranger.ask(f"//elsewhere.example/?token={stranger.door.token}")
    assert answer.headers["location"] == "/elsewhere.example/"


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", ""]
    + ["localhost:{port}@evil.example", "evil.example:{port}:{port}", "0.0.0.0:{port}", "[::]:{port}"],
)
def test_a_foreign_host_is_refused(host: str, site: Visitor) -> None:
    assert site.ask("/", Host=host.format(port=site.door.port)).status == 403


@pytest.mark.parametrize("host", ["127.0.0.1:{port}", "localhost:{port}", "LOCALHOST:{port}", "[::1]:{port}"])
def test_the_own_host_is_known_by_its_names(host: str, site: Visitor) -> None:
    assert site.ask("/", Host=host.format(port=site.door.port)).status == 200


def test_two_hosts_are_refused(site: Visitor) -> None:
    own = f"127.0.0.1:{site.door.port}"
    answer = _raw(site, f"GET / HTTP/1.1\r\nHost: {own}\r\nHost: {own}\r\n\r\n")
    assert answer.split()[1] in (b"400", b"403")


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "", "https://127.0.0.1:{port}", "http://127.0.0.1:1", "file://"]
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_origin_is_refused(origin: str, method: str, site: Visitor) -> None:
    path, body = ("/", None) if method == "GET" else ("/look/shipped/forward", b"{}\n")
    assert site.ask(path, method, body, Origin=origin.format(port=site.door.port)).status == 403


def test_the_own_origin_passes_and_gets_no_cors_headers(site: Visitor) -> None:
    answer = site.ask("/", Origin=f"http://127.0.0.1:{site.door.port}")
    assert answer.status == 200
    assert not [name for name in answer.headers if name.startswith("access-control")]


def test_what_another_site_embeds_is_refused_but_its_links_are_not(site: Visitor) -> None:
    assert site.ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="no-cors").status == 403
    assert site.ask("/", Sec_Fetch_Site="same-site", Sec_Fetch_Mode="cors").status == 403
    assert site.ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate").status == 200
    posted = site.ask("/look/x/forward", "POST", b"", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")
    assert posted.status == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_other_methods_are_refused(method: str, site: Visitor) -> None:
    answer = site.ask("/", method)
    assert answer.status == 405
    assert f"The method {method} is not used here" in answer.text  # whatever the page itself would say
    assert "access-control-allow-methods" not in answer.headers


@pytest.mark.parametrize("path", ["/", "/nowhere", "/static/site/runs.js", "/lessons/nothing"])
def test_every_answer_has_the_headers_that_protect_it(path: str, site: Visitor) -> None:
    headers = site.ask(path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == "'self'"
    assert "unsafe-inline" not in policy["style-src"]
    assert policy["frame-ancestors"] == "'none'"
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cross-origin-opener-policy"] == "same-origin"


def test_the_style_of_a_refusal_is_the_one_that_the_policy_names(stranger: Visitor) -> None:
    answer = stranger.ask("/")
    (style,) = re.findall(r"<style>(.*?)</style>", answer.text, re.DOTALL)
    assert hashed(style) in answer.headers["content-security-policy"]


def test_no_page_has_inline_script(site: Visitor) -> None:
    run = identity("train", "first")
    for path in ("/", "/lessons", "/lessons/sentence_graph", "/runs", f"/runs/{run}", "/look"):
        text = site.ask(path).text
        assert "<script>" not in text
        assert " onclick" not in text
        assert "javascript:" not in text


SECRET = "the content of a file outside the runs"


@pytest.mark.parametrize(
    "prefix", ["/static/", "/runs/", "/lessons/", "/look/", "/runs/{run}/pictures/", "/"]
)
@pytest.mark.parametrize(
    "steps", ["../secret.txt", "..%2fsecret.txt", "%2e%2e/secret.txt", "..%5csecret.txt", "....//secret.txt"]
    + ["%252e%252e%252fsecret.txt", "/etc/passwd", "..;/secret.txt", "%00secret.txt", "..%c0%afsecret.txt"],
)  # fmt: skip
def test_paths_lead_nowhere(prefix: str, steps: str, site: Visitor) -> None:
    (site.runs.parent / "secret.txt").write_text(SECRET)
    answer = site.ask(prefix.format(run=identity("train", "first")) + steps)
    assert answer.status in (400, 404)
    assert SECRET not in answer.text
    assert "root:" not in answer.text


def test_links_in_the_runs_folder_are_not_followed(site: Visitor, tmp_path: Path) -> None:
    outside = visitor.training(tmp_path, "outside")
    os.symlink(outside, site.runs / "train" / "linked")
    inside = visitor.training(site.runs, "with-link")
    (inside / "result.json").unlink()
    os.symlink(outside / "result.json", inside / "result.json")
    os.symlink(outside / "model.json", inside / "picture.png")
    try:
        assert site.ask(f"/runs/{identity('train', 'linked')}").status == 404
        assert "linked" not in site.ask("/runs").text
        shown = site.ask(f"/runs/{identity('train', 'with-link')}")
        assert shown.status == 200
        assert "links are not followed" in shown.text
        assert "/pictures/" not in shown.text
    finally:
        (site.runs / "train" / "linked").unlink()
        (inside / "result.json").unlink()


def test_names_are_text_wherever_they_stand(site: Visitor) -> None:
    name = HOSTILE.replace("/", "")
    first, ranked = identity("train", "first"), identity("rank", "three")
    for path in ("/", "/runs", f"/runs/{identity('train', name)}", f"/runs/{first}", f"/runs/{ranked}"):
        text = site.ask(path).text
        assert "<img src=x" not in text, path
    assert "&lt;img src=x" in site.ask("/runs").text
    for path in (
        f"/lessons/{name}",
        f"/lessons/attention?keys={name}".replace(" ", "+"),
        f"/lessons?search={name}",
    ):
        assert "<img src=x" not in site.ask(path.replace(" ", "+")).text


def test_a_report_is_shut_off_from_the_site(site: Visitor) -> None:
    folder = visitor.training(site.runs, "with-report")
    (folder / "report.html").write_text("<script>alert(1)</script>")
    policy = site.ask(f"/runs/{identity('train', 'with-report')}/report").headers["content-security-policy"]
    assert policy.startswith("sandbox allow-scripts;")
    assert "allow-same-origin" not in policy
    assert "connect-src" not in policy
    assert "default-src 'none'" in policy


def test_a_body_that_says_it_is_large_is_refused_before_it_is_sent(site: Visitor) -> None:
    for length in (security.LARGEST_BODY + 1, 5 * 2**30, 10**30):
        answer = _raw(site, f"{_head(site, 'POST /look/x/forward')}Content-Length: {length}\r\n\r\n")
        assert b" 413 " in answer or b" 400 " in answer


def test_a_body_is_counted_while_it_comes(site: Visitor) -> None:
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    with socket.create_connection(("127.0.0.1", site.door.port), 30) as connection:
        head = f"{_head(site, 'POST /look/shipped/forward')}Transfer-Encoding: chunked\r\n\r\n"
        connection.sendall(head.encode())
        sent = 0
        try:
            while sent < 100 * security.LARGEST_BODY:
                connection.sendall(chunk)
                sent += 65536
        except OSError:
            pass  # it has hung up
    assert sent < 10 * security.LARGEST_BODY


async def _asked(app: Guard, bodies: list[Message], path: str = "/", **headers: str) -> list[Message]:
    """The messages with which an application answers; who waits for more than the last body fails."""
    door = app.door
    known = {"host": f"127.0.0.1:{door.port}", "cookie": f"{door.cookie}={door.token}", **headers}
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in known.items()],
    }
    sent: list[Message] = []

    async def receive() -> Message:
        if bodies:
            return bodies.pop(0)
        await asyncio.sleep(1)
        raise AssertionError("nothing comes, and nobody gives up")

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent


def _reader(door: Door, seconds: float) -> Guard:
    """An application that reads the whole body."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        try:
            size, more = 0, True
            while more:
                message = await receive()
                size, more = size + len(message["body"]), message["more_body"]
            answer = PlainTextResponse(str(size))
        except HTTPException as refusal:
            answer = PlainTextResponse(refusal.detail, refusal.status_code)
        await answer(scope, receive, send)

    return Guard(app, door, seconds)


def _body(size: int, more: bool) -> Message:
    return {"type": "http.request", "body": b"x" * size, "more_body": more}


def test_the_largest_body_passes_and_one_byte_more_does_not() -> None:
    door = Door("127.0.0.1", 1)
    half = security.LARGEST_BODY // 2
    fine = asyncio.run(_asked(_reader(door, 60), [_body(half, True), _body(half, False)]))
    assert fine[0]["status"] == 200
    large = asyncio.run(_asked(_reader(door, 60), [_body(half, True), _body(half, True), _body(1, False)]))
    assert large[0]["status"] == 413


def test_a_body_that_never_ends_is_given_up() -> None:
    sent = asyncio.run(_asked(_reader(Door("127.0.0.1", 1), 0.05), [_body(1, True)]))
    assert sent[0]["status"] == 408


def test_who_leaves_within_a_body_is_no_fault_of_this_program(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    app = application(Door("127.0.0.1", 1), tmp_path, Workers(threads=0))
    assert isinstance(app, Guard)
    gone: Message = {"type": "http.disconnect"}
    sent = asyncio.run(_asked(app, [_body(1, True), gone], path="/look/shipped/forward"))
    assert sent[0]["status"] == 400
    assert capsys.readouterr().err == ""


def test_a_request_whose_head_never_ends_is_closed(site: Visitor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server.Deadline, "seconds", 0.05)
    with socket.create_connection(("127.0.0.1", site.door.port), PATIENCE) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: ")
        with suppress(ConnectionResetError):
            assert connection.recv(1) == b""


def test_what_does_not_fit_into_the_queue_is_refused() -> None:
    async def fill() -> list[Any]:
        workers, free = Workers(threads=1, waiting=1, deadline=PATIENCE), threading.Event()
        began = threading.Event()

        def work() -> str:
            began.set()
            free.wait()
            return "done"

        first = asyncio.create_task(workers.run(work))
        while not began.is_set():
            await asyncio.sleep(0.001)
        second = asyncio.create_task(workers.run(work))
        await asyncio.sleep(0)
        try:
            with pytest.raises(HTTPException, match="503: The server is busy"):
                await workers.run(work)
        finally:
            free.set()
        return [await first, await second]

    assert asyncio.run(fill()) == ["done", "done"]


def test_work_that_takes_too_long_is_given_up() -> None:
    async def late() -> int:
        workers, free = Workers(threads=1, deadline=0.02), threading.Event()
        try:
            with pytest.raises(HTTPException) as refused:
                await workers.run(free.wait)
            return refused.value.status_code
        finally:
            free.set()

    assert asyncio.run(late()) == 503


def _head(site: Visitor, what: str) -> str:
    cookie = f"{site.door.cookie}={site.door.token}"
    return f"{what} HTTP/1.1\r\nHost: 127.0.0.1:{site.door.port}\r\nCookie: {cookie}\r\n"


def _raw(site: Visitor, request: str) -> bytes:
    with socket.create_connection(("127.0.0.1", site.door.port), 30) as connection:
        connection.sendall(request.encode())
        return connection.recv(65536)


def test_a_host_that_is_no_text_is_refused() -> None:
    with pytest.raises(UserError, match="no name of a machine"):
        server.open_port("\udcff", 0)
