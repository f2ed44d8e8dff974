"""Notice that another process of a training has died, and end this one with a message.

Rank 0 holds a connection to every other process. The system closes the connections of a process that dies, so
nothing has to be sent while all live, and a process that merely computes for long is never called dead. Rank
0 tells the others who was lost. A collective that waits for the lost process fails by itself under gloo; NCCL
would wait for minutes, so after `PATIENCE` the process is ended from outside.
"""

import os
import secrets
import selectors
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from vitruvius.core.errors import WorkFailed, reason

PATIENCE = 5.0
"""Seconds that the main thread has to notice a loss by itself."""
JOINING = 60.0
"""Seconds that the processes have to connect."""
RANK_BYTES = 4
LEAVING = b"\xff" * RANK_BYTES
"""What a process sends that leaves because its work is done, in place of the rank that was lost."""
TOKEN_BYTES = 16


class ProcessLost(WorkFailed):
    """Another process of the training has died."""


_lost: list[int] = []  # the rank that was lost first, if any
_noticed = threading.Event()


def message(rank: int | None, processes: int) -> str:
    """Say that a process is gone and what is left.

    >>> message(1, 4)[:63]
    'process 1 of 0 to 3 has ended: training stopped, the last check'
    """
    who = "another process of this training" if rank is None else f"process {rank} of 0 to {processes - 1}"
    return f"{who} has ended: training stopped, the last checkpoint is kept and --resume goes on from it"


def lost(seconds: float = PATIENCE) -> int | None:
    """Return the rank that was lost, after waiting a while for the news; None if it is not known."""
    _noticed.wait(seconds)
    return _lost[0] if _lost else None


@contextmanager
def watch(rank: int, processes: int, host: str, broadcast: Callable[[str], str]) -> Iterator[None]:
    """Watch the other processes inside the context; all of them must enter it together."""
    if processes == 1:
        yield
        return
    _lost.clear()
    _noticed.clear()
    peers = _accepted(processes, host, broadcast) if rank == 0 else [_connected(rank, host, broadcast)]
    left, last_message = threading.Event(), b""
    target = _watch_all if rank == 0 else _watch_first
    watcher = threading.Thread(target=target, args=(peers, processes, left), daemon=True)
    watcher.start()
    try:
        yield
        last_message = LEAVING
    finally:  # closed without that message, the others learn that this process has failed
        left.set()
        for peer in peers:
            with suppress(OSError):
                peer.sendall(last_message)
            with suppress(OSError):
                peer.shutdown(socket.SHUT_RDWR)  # wakes the watcher
        watcher.join()
        for peer in peers:
            peer.close()


def _accepted(processes: int, host: str, broadcast: Callable[[str], str]) -> list[socket.socket]:
    """Return a connection to every other process, in order of rank."""
    token = secrets.token_bytes(TOKEN_BYTES)
    found: dict[int, socket.socket] = {}
    with _listening(host) as server:
        broadcast(f"{server.getsockname()[1]} {token.hex()}")
        server.settimeout(JOINING)
        while len(found) < processes - 1:
            try:
                peer, _ = server.accept()
            except TimeoutError:
                missing = ", ".join(str(rank) for rank in range(1, processes) if rank not in found)
                raise WorkFailed(f"process {missing} of this training does not answer") from None
            peer.settimeout(JOINING)
            greeting = received(peer, TOKEN_BYTES + RANK_BYTES)
            if greeting[:TOKEN_BYTES] == token:  # another program may have found the port
                found[int.from_bytes(greeting[TOKEN_BYTES:])] = _kept_alive(peer)
            else:
                peer.close()
    return [found[rank] for rank in sorted(found)]


def _listening(host: str) -> socket.socket:
    """Listen at the address that the others know, at all addresses if that is not one of this machine."""
    try:
        return socket.create_server((host, 0))
    except OSError:
        return socket.create_server(("", 0))


def _connected(rank: int, host: str, broadcast: Callable[[str], str]) -> socket.socket:
    """Return the connection to rank 0."""
    port, _, token = broadcast("").partition(" ")
    try:
        peer = socket.create_connection((host, int(port)), timeout=JOINING)
    except OSError as error:
        raise WorkFailed(
            f"process 0 of this training cannot be reached at {host}: {reason(error)}"
        ) from error
    peer.sendall(bytes.fromhex(token) + rank.to_bytes(RANK_BYTES))
    return _kept_alive(peer)


def _kept_alive(peer: socket.socket) -> socket.socket:
    """Return the connection, blocking, on which the system notices a machine that is gone."""
    peer.settimeout(None)
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 3), ("TCP_KEEPINTVL", 1), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):  # not on every system
            peer.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    return peer


def _watch_all(peers: list[socket.socket], processes: int, left: threading.Event) -> None:
    """On rank 0: wait for a connection to end without the closing message, and notify the others."""
    with selectors.DefaultSelector() as selector:
        for rank, peer in enumerate(peers, 1):
            selector.register(peer, selectors.EVENT_READ, rank)
        while selector.get_map():
            for key, _ in selector.select():
                selector.unregister(key.fileobj)
                if received(peers[key.data - 1], RANK_BYTES) == LEAVING or left.is_set():
                    continue
                for peer in peers:
                    with suppress(OSError):
                        peer.sendall(key.data.to_bytes(RANK_BYTES))
                _leave(key.data, processes, left)
                return


def _watch_first(peers: list[socket.socket], processes: int, left: threading.Event) -> None:
    """On the other ranks: wait for rank 0 to name a lost process, or to be lost itself."""
    said = received(peers[0], RANK_BYTES)
    if said != LEAVING and not left.is_set():
        _leave(int.from_bytes(said), processes, left)  # nothing was said: rank 0


def received(peer: socket.socket, count: int) -> bytes:
    """Return so many bytes, fewer if the connection ends."""
    found = b""
    with suppress(OSError):
        while len(found) < count and (more := peer.recv(count - len(found))):
            found += more
    return found


def _leave(rank: int, processes: int, left: threading.Event) -> None:
    """Let the main thread leave by itself; end the process if it does not."""
    _lost.append(rank)
    _noticed.set()
    if not left.wait(PATIENCE):
        print(f"vitruvius: {message(rank, processes)}", file=sys.stderr, flush=True)
        os._exit(1)
