"""Autograd graphs that outlive their step: of losses that are added up, of evaluations, of recurrent states.

A token in the metadata of a graph's node lives as long as the node does, so that a weak reference tells
whether the graph still exists.
"""

import linecache
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import torch
from torch import Tensor, nn

from vitruvius.checks import GraphsKept, StateCarried
from vitruvius.doctor import user_code
from vitruvius.doctor.source_lines import line_that_keeps

ROOT, PASS = "vitruvius_root", "vitruvius_pass"
FEWEST, REMEMBERED = 3, 8  # graphs of earlier steps that are held at once; how many are looked after
MOST_SEARCHES = 8
LARGEST, NEAR = 20_000, 8  # nodes; those of a state that are looked at
AGAIN = "backward through the graph a second time"
IN_PLACE = "modified by an inplace operation"


class Token:
    """What a node of a graph belongs to."""

    __slots__ = ("__weakref__", "backwards", "key", "step")

    def __init__(self, key: Any, step: int, backwards: int) -> None:
        self.key, self.step, self.backwards = key, step, backwards


@dataclass(slots=True)
class KeptGraphs:
    """The graphs of the last losses and of the last passes, by the line that made them."""

    roots: dict[str, deque["weakref.ref[Token]"]] = field(default_factory=dict)
    passes: dict[tuple[str, int, bool], deque["weakref.ref[Token]"]] = field(default_factory=dict)
    used: set[tuple[str, int, bool]] = field(default_factory=set)  # passes that some backward pass used
    counts: dict[tuple[str, int, bool], int] = field(default_factory=dict)
    held: dict[tuple[str, int, bool], tuple[int, str]] = field(default_factory=dict)
    outputs: dict[tuple[str, int, bool], tuple[int, str]] = field(default_factory=dict)
    """Outputs of earlier steps that are held though their losses were used: how many, and the line."""
    reported: set[str] = field(default_factory=set)
    carried: tuple[Any, dict[str, Any]] | None = None  # a node of an earlier pass, and the facts
    inside: dict[str, Any] | None = None  # the facts of a pass that goes on into an earlier one
    seen_carried: int = 0
    searches: int = 0  # for what holds outputs

    def before_backward(self, loss: Tensor, where: str, step: int, backwards: int) -> GraphsKept | None:
        """Look after the graph of a loss; tell if those of earlier steps at this line all exist still."""
        if loss.grad_fn is None:
            return None
        roots = self.roots.setdefault(where, deque(maxlen=REMEMBERED))
        alive = [token for held in roots if (token := held()) is not None]
        if not alive or alive[-1].step != step:
            token = Token(where, step, backwards)
            _notes(loss.grad_fn)[ROOT] = token
            roots.append(weakref.ref(token))
        if where in self.reported or len({token.step for token in alive if token.step < step}) < FEWEST:
            return None
        self.reported.add(where)
        kept = _holder_line(alive[:-1], ROOT, where)
        return GraphsKept(step=step, where=where, graphs=len(alive), holder=kept, evaluation=False)

    def network_ran(
        self, key: tuple[str, int, bool], model: nn.Module, args: Any, output: Any, step: int, back: int
    ) -> None:
        """Look after the graph of a network's output, and recognise its state of an earlier step."""
        held = [tensor for _, _, value in _states(model) for tensor in _tensors(value)]
        found = [t for tensors in (_tensors(output), held) for t in _with_graph(tensors)]
        if not found:
            return
        self._recognise(key, args, back)
        token = Token(key, step, back)
        for tensor in found:
            assert tensor.grad_fn is not None
            _notes(tensor.grad_fn)[PASS] = token
        passes = self.passes.setdefault(key, deque(maxlen=REMEMBERED))
        passes.append(weakref.ref(token))
        self.counts[key] = self.counts.get(key, 0) + 1
        alive = [one for held in passes if (one := held()) is not None]
        new = key not in self.held and key not in self.used and len(alive) > FEWEST
        if new and len({one.backwards for one in alive}) == 1:
            self.held[key] = (len(alive), _holder_line(alive[:-1], PASS, key[0]))
        # A state that is carried on keeps earlier passes alive by itself, and is told as such.
        if key in self.used and key not in self.outputs and not self.seen_carried:
            earlier = [one for one in alive if one.backwards < back]
            if len({one.backwards for one in earlier}) >= FEWEST and self.searches < MOST_SEARCHES:
                self.searches += 1
                line = _holder_line(earlier, PASS, key[0])
                if line:
                    self.outputs[key] = (len(earlier), line)

    def _recognise(self, key: tuple[str, int, bool], args: Any, back: int) -> None:
        for tensor in _tensors(args):
            for node in islice(nodes_below(tensor), NEAR):
                token = _notes(node).get(PASS)
                if token is None or token.key[1] != key[1]:
                    continue
                if token.backwards < back and self.carried is None:
                    self.carried = (node, {"where": key[0], "network": key[1], "holder": ""})

    def used_by(self, nodes: Any) -> None:
        """Remember the passes whose graphs a backward pass goes through."""
        newest: dict[int, tuple[Any, Token]] = {}
        older: list[tuple[Any, Token]] = []
        for node in nodes:
            token = _notes(node).get(PASS)
            if token is None:
                continue
            self.used.add(token.key)
            first = newest.setdefault(token.key[1], (node, token))
            if token.backwards < first[1].backwards:
                older.append((node, token))
        for node, token in older[:1]:
            later, last = newest[token.key[1]]
            if self.inside is None and any(below is node for below in _below([later])):
                self.inside = {"where": last.key[0], "network": last.key[1], "holder": ""}

    def reaches_back(self, loss: Tensor, step: int, model: nn.Module | None) -> StateCarried | None:
        """Tell if the graph of a loss goes on into a pass before the last backward pass."""
        (carried, inside), self.carried, self.inside = (self.carried, self.inside), None, None
        if (carried is None and inside is None) or self.seen_carried >= FEWEST:
            return None
        self.seen_carried += 1
        if carried is not None and any(node is carried[0] for node in nodes_below(loss)):
            return StateCarried(step=step, **carried[1])
        if inside is None:
            return None
        line, name = _held_state(model)
        return StateCarried(step=step, **{**inside, "where": line or inside["where"], "holder": name})

    def backward_failed(
        self, error: Exception, model: nn.Module | None, network: int
    ) -> dict[str, Any] | None:
        """After a failed backward pass: the network that holds a state with a graph, and its attribute."""
        if AGAIN not in str(error) and IN_PLACE not in str(error):
            return None
        line, name = _held_state(model)
        if not name:
            return None
        return {"where": line or user_code.where(), "network": network, "holder": name}

    def at_the_end(self, step: int) -> Iterator[GraphsKept]:
        """Passes whose graphs no backward pass has used, in training or not, and outputs that are held."""
        told = {network for (_, network, _) in self.outputs} if not self.reported else set()
        for key, (graphs, line) in self.outputs.items():
            if key[1] in told and not self.seen_carried:
                told.discard(key[1])
                where: dict[str, Any] = {"where": key[0], "holder": line, "network": key[1]}
                yield GraphsKept(step=step, graphs=graphs, evaluation=False, outputs=True, **where)
        for key, count in self.counts.items():
            if key in self.used or count < FEWEST:
                continue
            graphs, line = self.held.get(key, (0, ""))
            if graphs or not key[2]:
                facts: dict[str, Any] = {"graphs": graphs, "passes": count, "holder": line, "network": key[1]}
                yield GraphsKept(step=step, where=key[0], evaluation=True, **facts)


def _held_state(model: nn.Module | None) -> tuple[str, str]:
    """The line and the attribute of a network that hold a tensor with its graph."""
    for module, name, _ in _states(model):
        code = getattr(type(module).forward, "__code__", None)
        line = line_that_keeps(code.co_filename, name, code.co_firstlineno) if code else ""
        return line or _assignment(code, name), name
    return "", ""


def _states(model: nn.Module | None) -> Iterator[tuple[nn.Module, str, Any]]:
    """The attributes of a network's modules that hold tensors with a graph."""
    for module in model.modules() if model is not None else ():
        for name, value in vars(module).items():
            known = not name.startswith("_") and isinstance(value, Tensor | list | tuple | dict)
            if known and any(t.grad_fn is not None for t in _tensors(value)):
                yield module, name, value


def _notes(node: Any) -> dict[str, Any]:
    """The metadata of a node of an autograd graph, which torch declares as a method."""
    found: dict[str, Any] = node.metadata
    return found


def nodes_below(loss: Tensor) -> Iterator[Any]:
    """The nodes of the graph of a loss, as many as are looked at."""
    yield from _below([loss.grad_fn])


def _below(roots: list[Any]) -> Iterator[Any]:
    seen: set[Any] = set()
    queue = deque(roots)
    while queue and len(seen) < LARGEST:
        node = queue.popleft()
        if node is not None and node not in seen:
            seen.add(node)
            yield node
            queue.extend(following for following, _ in node.next_functions)


def _assignment(code: Any, name: str) -> str:
    """The line of a method that assigns an attribute."""
    if code is None:
        return ""
    last = max((line for _, _, line in code.co_lines() if line), default=0)
    for line in range(code.co_firstlineno, last + 1):
        text = linecache.getline(code.co_filename, line)
        if f".{name}" in text.partition("=")[0] and "=" in text:
            return f"{code.co_filename}:{line}"
    return ""


def _tensors(value: Any, depth: int = 3) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif depth and isinstance(value, list | tuple | deque | dict):
        parts = list(value.values()) if isinstance(value, dict) else list(value)
        for part in parts[-REMEMBERED:]:
            yield from _tensors(part, depth - 1)


def _with_graph(tensors: Iterable[Tensor]) -> list[Tensor]:
    """The first tensors that have a graph, as many as are looked after."""
    return list(islice((tensor for tensor in tensors if tensor.grad_fn is not None), 4))


def _holder_line(tokens: list[Token], kind: str, where: str) -> str:
    """The line that keeps graphs alive, by the variable that holds them; empty if none is found."""
    wanted = set(map(id, tokens))
    frame = user_code.user_frame()
    while frame is not None:
        if user_code.is_users(frame.f_code.co_filename):
            name = _holder(frame.f_locals, kind, wanted)
            near = where if where.startswith(frame.f_code.co_filename) else f":{frame.f_lineno}"
            line = (
                line_that_keeps(frame.f_code.co_filename, name, int(near.rpartition(":")[2])) if name else ""
            )
            if line:
                return line
        frame = frame.f_back
    return ""


def _holder(variables: dict[str, Any], kind: str, wanted: set[int], depth: int = 2) -> str:
    """The variable or attribute that holds a tensor whose graph has one of these tokens."""
    for name, value in list(variables.items()):
        if any(_has(tensor, kind, wanted) for tensor in _tensors(value)):
            return name
    for name, value in list(variables.items()):
        own = vars(value) if depth and hasattr(value, "__dict__") and not isinstance(value, type) else {}
        if own and not name.startswith("__") and user_code.is_users(_file(value)):
            inner = _holder(own, kind, wanted, depth - 1)
            if inner:
                return inner
    return ""


def _file(value: Any) -> str:
    """The source file of the methods of a value's class; that of a library if it has none."""
    codes = [getattr(method, "__code__", None) for method in vars(type(value)).values()]
    return next((code.co_filename for code in codes if code is not None), "<frozen")


def _has(tensor: Tensor, kind: str, wanted: set[int]) -> bool:
    if tensor.grad_fn is None:
        return False
    for number, node in enumerate(nodes_below(tensor)):
        if number > 64:
            break
        if id(node.metadata.get(kind)) in wanted:
            return True
    return False


def is_recorded() -> bool:
    """Whether a graph is being recorded now."""
    return torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
