"""Look inside networks, work lessons and follow runs in the browser; nothing leaves this machine.

The address that is printed holds the token of this start. Ctrl-C ends it.

vitruvius serve
vitruvius serve --no-browser --port 8400
"""

import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from vitruvius.core import config, records
from vitruvius.core.blocks import Block, Text
from vitruvius.core.config import Flags


class Config(config.Config):
    """Where the pages are served."""

    takes: ClassVar[tuple[str, ...]] = ("runs", "quiet")

    port: Annotated[int, Field(ge=0, le=65535)] = 8321
    """The port, or the next free one after it; 0 takes any."""
    host: str = "127.0.0.1"
    """The address to listen on; any other than this machine's own lets others in who know the token."""
    browser: bool = True
    """Do not open the page in a browser."""


class Address(records.Record):
    """Where the pages are: what a person opens."""

    is_data: ClassVar[bool] = True
    address: str

    def view(self) -> Iterable[Block]:
        yield Text(text=self.address)


def run(config: Config, flags: Flags = Flags()) -> Iterator[records.Record]:
    """Serve until Ctrl-C."""
    from vitruvius.web import server

    listener = server.open_port(config.host, config.port)
    taken = listener.getsockname()[1]
    if config.port and taken != config.port:
        yield records.Note(text=f"port {config.port} is in use: {taken} is taken instead")
    with server.serving(listener, config.host, Path(flags.runs)) as door:
        if not door.is_local:
            yield records.Note(text=door.warning, warning=True)
        yield Address(address=door.address)
        yield records.Note(text="Ctrl-C ends it")
        if config.browser and _has_screen():
            import webbrowser

            webbrowser.open(door.address)
        server.wait()


def _has_screen() -> bool:
    """Whether a browser would open a window, and not take over the terminal."""
    return sys.platform in ("win32", "darwin") or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())
