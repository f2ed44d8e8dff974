"""What all events of a trace have in common: a step, a line, and facts that may be unknown."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self


class UnknownFact(Exception):
    """A check reads what the watcher could not find out: `Forward.batch`, or all `Forward` events."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that the training did."""

    step: int  # optimiser steps done before
    where: str  # `file:line` of the user's code, empty if none was running

    if not TYPE_CHECKING:

        def __getattr__(self, fact: str) -> Any:
            """Called for an empty slot only: a fact that is unknown."""
            name = f"{type(self).__name__}.{fact}"
            raise (UnknownFact if fact in self.__dataclass_fields__ else AttributeError)(name)

    @classmethod
    def without(cls, unknown: Iterable[str], **facts: Any) -> Self:
        """The event with these facts, some of which are unknown."""
        event = cls(**facts | dict.fromkeys(unknown))
        for fact in unknown:
            object.__delattr__(event, fact)
        return event
