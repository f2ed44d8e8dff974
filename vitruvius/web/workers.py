"""A bounded queue of work for a few threads: pages are computed there, and what does not fit is refused."""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ParamSpec, TypeVar

from starlette.exceptions import HTTPException

P = ParamSpec("P")
T = TypeVar("T")
THREADS = 2
WAITING = 64
"""Requests that wait for a thread; one more is answered with 503."""
DEADLINE = 120.0
"""Seconds after which a request that is still waiting or computing is answered with 503."""


class Workers:
    """Threads that end with the process: Ctrl-C does not wait for them."""

    def __init__(self, threads: int = THREADS, waiting: int = WAITING, deadline: float = DEADLINE) -> None:
        self._queue: queue.Queue[Callable[[], None]] = queue.Queue(waiting)
        self._deadline = deadline
        self._is_open = True
        for number in range(threads):
            threading.Thread(target=self._work, name=f"page {number + 1}", daemon=True).start()

    async def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in one of the threads; 503 if the queue is full or the deadline has passed."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()

        def settle(settler: Callable[[Any], None], value: Any) -> None:
            if not answer.done():  # whoever asked may have left
                settler(value)

        def work() -> None:
            if answer.done():
                return
            try:
                found = (answer.set_result, function(*args, **kwargs))
            except BaseException as error:
                found = (answer.set_exception, error)  # type: ignore[assignment]
            if not loop.is_closed():
                loop.call_soon_threadsafe(settle, *found)

        try:
            self._queue.put_nowait(work)
        except queue.Full:
            raise HTTPException(503, "The server is busy: try again in a moment.") from None
        try:
            return await asyncio.wait_for(answer, self._deadline)
        except TimeoutError:
            late = f"This took longer than {self._deadline:.0f} seconds and was given up."
            raise HTTPException(503, late) from None

    def close(self) -> None:
        """Let the threads end once they have nothing to do."""
        self._is_open = False

    def _work(self) -> None:
        while self._is_open:
            with suppress(queue.Empty):
                self._queue.get(timeout=1.0)()
