"""Verified downloads: a file appears only when it is complete; an interrupted download is continued."""

import logging
import os
import time
from collections.abc import Callable, Iterator
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from filelock import FileLock

from vitruvius.core import cache
from vitruvius.core.errors import UserError, WorkFailed, reason

CHUNK = 2**18
TIMEOUT = 30.0  # seconds without a byte after which a connection counts as broken
PAUSES = (0.5, 2.0)  # seconds to wait before each new attempt after a broken connection
log = logging.getLogger(__name__)


def fetch(url: str, target: Path, check: Callable[[Path], object], limit: int) -> None:
    """Download to `target` unless it exists: at most `limit` bytes, which `check` must not refuse.

    The bytes go to `<target>.part`, which a later call continues; a lock file makes other processes wait.
    """
    if cache.is_closed():
        raise UserError(f"{target.name} is not on this machine, and nothing is downloaded here")
    part = target.with_name(target.name + ".part")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(target.with_name(target.name + ".lock")):
            if not target.exists():
                log.info("downloading %s to %s", url, target)
                _fetch_part(url, part, check, limit)
                os.replace(part, target)
    except OSError as error:
        raise WorkFailed(f"cannot write {target}: {reason(error)}; XDG_CACHE_HOME moves the cache") from error


def _fetch_part(url: str, part: Path, check: Callable[[Path], object], limit: int) -> None:
    """Complete the part and check it; a continued part that fails is downloaded once more from zero."""
    while True:
        is_new = not part.exists()
        _receive(url, part, limit)
        try:
            check(part)
            return
        except UserError as error:
            part.unlink()
            if is_new:
                raise WorkFailed(f"{url} did not send the expected file, it was deleted: {error}") from error


def _receive(url: str, part: Path, limit: int) -> None:
    """Append the missing bytes, with a few new attempts after broken connections."""
    for pause in (*PAUSES, None):
        try:
            _append(url, part, limit)
            return
        except (HTTPError, HTTPException, ConnectionError) as error:
            is_refused = isinstance(error, HTTPError) and error.code < 500
            if is_refused or pause is None:
                cure = f"the next call continues where this one stopped, or put the file into {part.parent}"
                raise WorkFailed(f"could not download {url}: {error}; {cure} yourself") from error
            time.sleep(pause)


def _append(url: str, part: Path, limit: int) -> None:
    """Request the bytes that the part does not hold yet."""
    have = part.stat().st_size if part.exists() else 0
    rest = {"Range": f"bytes={have}-"} if have else {}
    headers = {"User-Agent": "vitruvius", "Accept-Encoding": "identity"} | rest
    try:
        response = urlopen(Request(url, headers=headers), timeout=TIMEOUT)  # nosec B310 # our constants, http(s)
    except HTTPError as error:
        error.close()
        if have and error.code == 416:  # the part is complete
            return
        raise
    except OSError as error:
        raise ConnectionError(str(error)) from error
    with response:
        sent = response.headers.get("Content-Range", "")
        is_rest = response.status == 206 and sent.startswith(f"bytes {have}-")
        with open(part, "ab" if is_rest else "wb") as file:
            for chunk in _chunks(response):
                if file.tell() + len(chunk) > limit:
                    part.unlink()
                    raise WorkFailed(f"{url} sends more than {limit:,} bytes, it cannot be the expected file")
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())


def _chunks(response: HTTPResponse) -> Iterator[bytes]:
    """Yield the body in chunks; any interruption, also a silent early end, is a ConnectionError."""
    try:
        while chunk := response.read(CHUNK):
            yield chunk
    except OSError as error:
        raise ConnectionError(f"the connection broke: {error}") from error
    if response.length:
        raise ConnectionError(f"the connection broke {response.length:,} bytes before the end")
