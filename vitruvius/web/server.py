"""Open the port and serve: a thread runs the server, so that a script, a notebook and a command can wait."""

import asyncio
import errno
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from vitruvius.core.errors import UserError, WorkFailed, reason
from vitruvius.web.app import application
from vitruvius.web.security import Door
from vitruvius.web.workers import Workers

PORTS_TRIED = 20
HEADER_SECONDS = 10.0
"""The head of a request must have arrived in this time."""
REQUESTS = 256
"""Requests at one time; more are answered with 503."""
CONNECTIONS = 2000
"""Open connections; more are closed at once."""


class Deadline(H11Protocol):
    """HTTP as uvicorn speaks it, with a deadline for the head of a request and a limit on connections."""

    seconds = HEADER_SECONDS
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > CONNECTIONS:
            transport.abort()
            return
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_watching()
        super().connection_lost(exc)

    def _watch(self) -> None:
        """Let the clock run while the head of a request is awaited."""
        if self.conn.their_state is not h11.IDLE:
            self._stop_watching()
        elif self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(self.seconds, self.transport.abort)

    def _stop_watching(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def open_port(host: str, port: int) -> socket.socket:
    """Listen on a port, or on the next one that is free."""
    for candidate in range(port, min(port + PORTS_TRIED, 65536)) if port else (0,):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(2048)
            return listener
        except TypeError as error:  # "encoding of hostname failed": half of a surrogate pair
            listener.close()
            raise UserError(f"--host {host}: this is no name of a machine") from error
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise UserError(f"--host {host} --port {candidate}: {reason(error)}") from error
    raise UserError(f"--port {port}: this one and the {PORTS_TRIED - 1} after it are in use; choose another")


@contextmanager
def serving(listener: socket.socket, host: str, runs: Path) -> Iterator[Door]:
    """Serve on an open port until the context ends; open streams end with it."""
    door = Door(host, listener.getsockname()[1])
    _allow_many_connections()
    workers = Workers()
    config = uvicorn.Config(
        application(door, runs, workers),
        http=Deadline,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=REQUESTS,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=0,  # a stream would go on for ever
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=_run, args=(server, listener), name="web server", daemon=True)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            time.sleep(0.01)
        if not thread.is_alive():
            raise WorkFailed("the web server could not be started")
        yield door
    finally:
        server.should_exit = True
        thread.join(5)
        workers.close()
        listener.close()


def _run(server: uvicorn.Server, listener: socket.socket) -> None:
    with suppress(asyncio.CancelledError):
        server.run(sockets=[listener])


def wait() -> None:
    """Wait until Ctrl-C."""
    with suppress(KeyboardInterrupt):
        threading.Event().wait()


def _allow_many_connections() -> None:
    """Raise the number of files that this process may hold open, as far as the system allows."""
    with suppress(ImportError, ValueError, OSError):  # Windows has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = 2 * CONNECTIONS if hard == resource.RLIM_INFINITY else min(2 * CONNECTIONS, hard)
        if soft != resource.RLIM_INFINITY and soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
