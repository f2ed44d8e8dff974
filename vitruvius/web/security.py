"""Who may ask, and how much: Host, Origin, token, size and time of requests, headers of answers.

A page of another site must not reach this server through the user's browser. So the Host header must be ours
(DNS rebinding), the Origin if there is one too (cross-site requests), and every request needs the token of
this start, which lives in a cookie that browsers send to this site alone.
"""

import asyncio
import ipaddress
import secrets
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from vitruvius.render import policy
from vitruvius.web import markup

LARGEST_BODY = 5 * 2**20
BODY_SECONDS = 10.0
"""A body must have arrived in this time."""
SEND_SECONDS = 30.0
"""One part of an answer must have been taken in this time."""
METHODS = ("GET", "HEAD", "POST")
STYLES = f"'self' {policy.hashed(markup.sheets())} {policy.PLOTLY_STYLES}"
POLICY = (
    f"default-src 'none'; script-src 'self'; style-src {STYLES}; img-src 'self' data: blob:; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""No script but our own files is run; nothing but our style sheets and plotly changes the look of a page."""
REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""A report.html is shown as a document of nowhere: its scripts reach neither this site nor its cookie.

Its own policy, which holds too, names the scripts that run by their hashes.
"""


@dataclass(frozen=True)
class Door:
    """The address that is served, and the token that opens it."""

    host: str
    port: int
    token: str = field(default_factory=lambda: secrets.token_urlsafe(24), repr=False)

    @property
    def site(self) -> str:
        """The address without the token."""
        return f"http://{self._written(self._reachable)}:{self.port}"

    @property
    def address(self) -> str:
        """What a person opens: the address with the token."""
        return f"{self.site}/?token={self.token}"

    @property
    def cookie(self) -> str:
        """The name of the cookie; browsers send cookies to all ports of a host."""
        return f"vitruvius-{self.port}"

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host == "localhost" or _is_loopback(self.host)

    @property
    def warning(self) -> str:
        """What whoever opens it to other machines must know."""
        open_to = f"{self.host}:{self.port} is reachable from other machines, without encryption"
        return f"{open_to}: whoever knows the token sees your runs"

    def knows(self, host_header: str) -> bool:
        """Whether a Host header names this server."""
        name, _, port = host_header.rpartition(":")
        if port != str(self.port):
            # Browsers leave out the port 80.
            name, port = (host_header, "80") if self.port == 80 else ("", "")
        name = name.removeprefix("[").removesuffix("]").lower()
        known = {"127.0.0.1", "localhost", "::1", self.host.lower()}
        if self._is_everywhere:
            known |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        # An address of numbers was not looked up, so nobody can have rebound it.
        return bool(port) and (name in known or (self._is_everywhere and _is_address(name)))

    @property
    def _is_everywhere(self) -> bool:
        any_address = "0.0.0.0"  # nosec B104 # compared only; the user chooses what is bound
        return self.host in (any_address, "::")

    @property
    def _reachable(self) -> str:
        return "127.0.0.1" if self._is_everywhere else self.host

    @staticmethod
    def _written(host: str) -> str:
        return f"[{host}]" if ":" in host else host


class Guard:
    """The outermost part of the application: refuses what must not pass, limits the rest."""

    def __init__(self, app: ASGIApp, door: Door, body_seconds: float = BODY_SECONDS) -> None:
        self.app = app
        self.door = door
        self.body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        send = _protected(send)
        try:
            refuse_strangers(self.door, scope["method"], headers)
            refuse_large(headers.getlist("content-length"))
        except HTTPException as refusal:
            answer = markup.refusal(refusal.status_code, refusal.detail)
            answer.headers["Connection"] = "close"
            await answer(scope, receive, send)
            return
        if not self._has_cookie(headers):
            await self._ask_for_token(scope, receive, send)
            return
        await self.app(scope, _limited(receive, self.body_seconds), send)

    def _has_cookie(self, headers: Headers) -> bool:
        try:
            cookies = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        held = cookies.get(self.door.cookie)
        return held is not None and _same(held.value, self.door.token)

    async def _ask_for_token(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Take the token of the printed address into a cookie, or say where it is found."""
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        given = [value for name, value in query if name == "token"]
        if scope["method"] == "GET" and any(_same(value, self.door.token) for value in given):
            rest = urlencode([(name, value) for name, value in query if name != "token"])
            path = "/" + scope["path"].lstrip("/")  # two slashes would lead to another host
            answer = markup.redirect(path + (f"?{rest}" if rest else ""))
            cookie = f"{self.door.cookie}={self.door.token}; Path=/; HttpOnly; SameSite=Strict"
            answer.headers.append("Set-Cookie", cookie)
        else:
            answer = markup.refusal(401, "This page needs the token that `vitruvius serve` has printed.")
        await answer(scope, receive, send)


def refuse_strangers(door: Door, method: str, headers: Headers) -> None:
    """Refuse a foreign Host, a foreign Origin (also `null`), a cross-site use and other methods."""
    hosts, origins = headers.getlist("host"), headers.getlist("origin")
    if len(hosts) != 1 or not door.knows(hosts[0]):
        raise HTTPException(403, "The Host header does not name this server.")
    if origins and origins != [f"http://{hosts[0]}"]:
        raise HTTPException(403, "The request comes from a page of another site.")
    # Of another site's page only a link that is followed may reach us; it carries no cookie.
    is_link = headers.get("sec-fetch-mode") == "navigate" and method == "GET"
    if headers.get("sec-fetch-site") in ("cross-site", "same-site") and not is_link:
        raise HTTPException(403, "The request comes from a page of another site.")
    if method not in METHODS:
        raise HTTPException(405, f"The method {method} is not used here: {', '.join(METHODS)} are.")


def refuse_large(lengths: Sequence[str]) -> None:
    """Refuse a body whose announced length is above the limit, before any of it is read."""
    if any(not length.isdecimal() or len(length) > 12 or int(length) > LARGEST_BODY for length in lengths):
        raise HTTPException(413, _too_large())


def _too_large() -> str:
    return f"At most {LARGEST_BODY // 2**20} MiB are taken."


def _limited(receive: Receive, seconds: float) -> Receive:
    """Count the bytes of a body while they come, and give up on one that comes too slowly."""
    taken = 0
    is_whole = False
    deadline: float | None = None

    async def limited() -> Message:
        nonlocal taken, is_whole, deadline
        if is_whole:  # what follows a body is the end of the connection, however late
            return await receive()
        now = asyncio.get_running_loop().time()
        deadline = deadline or now + seconds
        try:
            message = await asyncio.wait_for(receive(), max(0.0, deadline - now))
        except TimeoutError:
            raise HTTPException(408, "The request came too slowly.", {"Connection": "close"}) from None
        taken += len(message.get("body", b""))
        if taken > LARGEST_BODY:
            raise HTTPException(413, _too_large(), {"Connection": "close"})
        is_whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message

    return limited


def _protected(send: Send) -> Send:
    """Add the headers that every answer has; a reader who takes nothing for long is left."""

    async def protected(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        await asyncio.wait_for(send(message), SEND_SECONDS)

    return protected


_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",  # the first address holds the token
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def _same(given: str, token: str) -> bool:
    return secrets.compare_digest(given.encode(), token.encode())


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
