"""The events of a trace: typed facts, and their list in docs/extending.md, which is made from the types.

python tests/checks/test_events.py    writes the list anew
"""

import ast
import dataclasses
import inspect
from pathlib import Path

import pytest

from vitruvius import checks
from vitruvius.checks import Backward, Event, Forward, GraphFacts, OptimiserEvent, Trace, Units, Waiting

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
BEGIN, END = "<!-- events: made by tests/checks/test_events.py -->\n", "<!-- end of events -->\n"


def kinds() -> list[type]:
    """Every event and the records inside events, in the order of the source."""
    found = [kind for kind in vars(checks).values() if isinstance(kind, type)]
    events = [kind for kind in found if issubclass(kind, Event | Waiting | GraphFacts | Units)]
    files = ["_event", "_training_events", "_data_events", "_operation_events"]
    places = {kind: files.index(kind.__module__.rpartition(".")[2]) for kind in events}
    return sorted(events, key=lambda kind: (places[kind], inspect.getsourcelines(kind)[1]))


def facts(kind: type) -> list[tuple[str, str, str]]:
    """Name, type and comment (or docstring) of the fields that a class declares itself."""
    source = inspect.getsource(kind)
    body = ast.parse(source).body[0]
    assert isinstance(body, ast.ClassDef)
    found = []
    for statement, following in zip(body.body, [*body.body[1:], ast.Pass()], strict=True):
        if isinstance(statement, ast.AnnAssign):
            comment = source.splitlines()[statement.lineno - 1].partition("  # ")[2]
            text = following.value if isinstance(following, ast.Expr) else ast.Constant("")
            doc = comment[:1].upper() + comment[1:] or str(getattr(text, "value", ""))
            found.append((ast.unparse(statement.target), ast.unparse(statement.annotation), doc))
    return found


def table() -> str:
    """The events and their facts as Markdown."""
    lines = ["| event | what happened | facts |", "|---|---|---|"]
    for kind in kinds():
        name = f"`{kind.__name__}`" + (" (an `OptimiserEvent`)" if OptimiserEvent in kind.__bases__ else "")
        said = [
            f"`{fact}: {type_}`" + (f" {doc.rstrip('.')}" if doc else "") for fact, type_, doc in facts(kind)
        ]
        row = f"| {name} | {inspect.getdoc(kind)} | {'; '.join(said).replace('|', chr(92) + '|')} |"
        lines.append(row)
    return "\n".join(lines) + "\n"


def test_the_documentation_lists_the_events_as_they_are() -> None:
    page = PAGE.read_text()
    assert page[page.index(BEGIN) + len(BEGIN) : page.index(END)] == table()


def test_every_event_is_frozen_and_names_its_facts() -> None:
    assert len(kinds()) > 15
    for kind in kinds():
        assert kind is GraphFacts or kind.__dataclass_params__.frozen  # type: ignore[attr-defined]
        own = {field.name for field in dataclasses.fields(kind)}
        assert {fact for fact, _, _ in facts(kind)} <= own


def trace() -> Trace:
    return Trace([Backward(step=0, where="a.py:1", operation="MeanBackward0", network=0, batch=0)])


def test_a_misspelt_fact_is_refused_by_mypy_and_when_it_is_read() -> None:
    # mypy reports an `ignore` that hides no error: `make check` fails if facts lose their types.
    with pytest.raises(AttributeError):
        _ = trace().of(Backward)[0].opertion  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        _ = trace().of(Backward, Forward)[0].opertion  # type: ignore[attr-defined]


def test_events_are_found_by_kind() -> None:
    found = trace()
    assert found.of(Backward) == found.of(Event) == found.of(Forward, Backward) == found.events
    assert found.of(Forward) == []
    assert found.graphs() == []


if __name__ == "__main__":
    text = PAGE.read_text()
    PAGE.write_text(text[: text.index(BEGIN)] + BEGIN + table() + text[text.index(END) :])
