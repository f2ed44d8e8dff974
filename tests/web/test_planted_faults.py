"""The hostile tests notice what they are for: each protection is taken away once, and its test must fail."""

import mmap
import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import uvicorn

from tests.web import test_hostile as hostile
from tests.web import test_security as sound
from tests.web import visitor
from tests.web.visitor import Visitor
from vitruvius.web import assets, library, look, markup, security, server

Patch = pytest.MonkeyPatch
NOTICED = (AssertionError, KeyError, TimeoutError, pytest.fail.Exception)


@pytest.fixture
def own_site(tmp_path: Path, monkeypatch: Patch) -> Iterator[Visitor]:
    """A site for one fault: tests of whole sites share another."""
    runs = tmp_path / "runs"
    visitor.training(runs, "first")
    visitor.training(runs, visitor.HOSTILE)
    visitor.ranking(runs, "three")
    monkeypatch.setattr(server, "REQUESTS", 40)
    with server.serving(server.open_port("127.0.0.1", 0), "127.0.0.1", runs) as door:
        yield Visitor(door, runs)


def allow(*_: Any) -> None:
    """Refuse nothing."""


def uncounted(receive: Any, seconds: float) -> Any:
    """Neither size nor time of a body matter."""
    return receive


class Endless(queue.Queue[Any]):
    """A queue that is never full."""

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__()


class Process:
    """A server in this process, as the hostile tests take one of its own: Ctrl-C ends its context."""

    pid = os.getpid()

    def __init__(self, context: ExitStack | None = None) -> None:
        self.context = context or ExitStack()
        self.ending = threading.Thread(target=self.context.close, daemon=True)

    def send_signal(self, number: int) -> None:
        self.ending.start()

    def wait(self, seconds: float) -> int:
        self.ending.join(seconds)
        if self.ending.is_alive():
            raise TimeoutError("the server waits")
        return 0


class AnyFile:
    """Files by the path that a request has."""

    def __init__(self, root: Path) -> None:
        self.get = root.joinpath


def any_host(patch: Patch, site: Visitor) -> None:
    patch.setattr(security.Door, "knows", lambda self, header: True)
    sound.test_a_foreign_host_is_refused("evil.example:{port}", site)


def any_origin(patch: Patch, site: Visitor) -> None:
    patch.setattr(security, "refuse_strangers", allow)
    sound.test_a_foreign_origin_is_refused("null", "GET", site)


def embedded_anywhere(patch: Patch, site: Visitor) -> None:
    patch.setattr(security, "refuse_strangers", allow)
    sound.test_what_another_site_embeds_is_refused_but_its_links_are_not(site)


def any_method(patch: Patch, site: Visitor) -> None:
    patch.setattr(security, "refuse_strangers", allow)
    sound.test_other_methods_are_refused("DELETE", site)


def no_token(patch: Patch, site: Visitor) -> None:
    patch.setattr(security.Guard, "_has_cookie", lambda self, headers: True)
    sound.test_nothing_is_shown_without_the_token("/", Visitor(site.door, site.runs, cookie=False))


def no_headers(patch: Patch, site: Visitor) -> None:
    patch.setattr(security, "_HEADERS", {})
    sound.test_every_answer_has_the_headers_that_protect_it("/", site)


def paths_from_requests(patch: Patch, site: Visitor) -> None:
    patch.setattr(assets, "known", lambda: AnyFile(site.runs))
    sound.test_paths_lead_nowhere("/static/", "..%2fsecret.txt", site)


def links_followed(patch: Patch, site: Visitor) -> None:
    patch.setattr(library, "_is_link", lambda folder: False)
    sound.test_links_in_the_runs_folder_are_not_followed(site, site.runs.parent / "elsewhere")


def names_as_markup(patch: Patch, site: Visitor) -> None:
    careless = markup._templates().overlay(autoescape=False)
    patch.setattr(markup, "_templates", lambda: careless)
    sound.test_names_are_text_wherever_they_stand(site)


def bodies_of_any_size(patch: Patch, site: Visitor) -> None:
    patch.setattr(security, "_limited", uncounted)
    sound.test_the_largest_body_passes_and_one_byte_more_does_not()


def bodies_without_end(patch: Patch, site: Visitor) -> None:
    patch.setattr(security, "_limited", uncounted)
    sound.test_a_body_that_never_ends_is_given_up()


def heads_without_end(patch: Patch, site: Visitor) -> None:
    patch.setattr(server.Deadline, "_watch", lambda self: None)
    sound.test_a_request_whose_head_never_ends_is_closed(site, patch)


def an_endless_queue(patch: Patch, site: Visitor) -> None:
    patch.setattr(queue, "Queue", Endless)
    sound.test_what_does_not_fit_into_the_queue_is_refused()


def slow_ones_take_all_places(patch: Patch, site: Visitor) -> None:
    """This site serves fewer requests at a time than the slow ones hold open."""
    hostile.test_slow_and_endless_requests_do_not_keep_others_out(_as_process(site))


def whole_bodies_are_read(patch: Patch, site: Visitor) -> None:
    patch.setattr(security, "_limited", uncounted)
    _few(patch)
    hostile.test_a_body_of_five_gibibytes_is_not_taken(_as_process(site))


def predictions_are_kept(patch: Patch, site: Visitor) -> None:
    kept, answer = list[mmap.mmap](), look.answer

    def keeping(*given: Any) -> bytes:
        kept.append(mmap.mmap(-1, 2**20))  # never memory that the process has freed before and still has
        kept[-1].write(b"x" * 2**20)
        return answer(*given)

    patch.setattr(look, "answer", keeping)
    _few(patch)
    hostile.test_a_thousand_at_once_each_get_their_own_answer_and_nothing_is_kept(_as_process(site))


def streams_are_waited_for(patch: Patch, site: Visitor) -> None:
    configured = uvicorn.Config.__init__

    def patient(self: uvicorn.Config, *given: Any, **options: Any) -> None:
        configured(self, *given, **options | {"timeout_graceful_shutdown": None})

    patch.setattr(uvicorn.Config, "__init__", patient)
    patch.setattr(hostile, "PATIENCE", 0.5)
    _interrupted(site.runs)


def _few(patch: Patch) -> None:
    """Attack with less: what is planted shows sooner than in a server that is sound."""
    patch.setattr(hostile, "MANY", 40)
    patch.setattr(hostile, "LARGEST_BODY", 2**20)
    patch.setattr(hostile, "BODY", 32 * 2**20)


def _interrupted(runs: Path) -> None:
    """Ctrl-C for a server of its own, while a page follows a run."""
    with ExitStack() as context:
        served = server.serving(server.open_port("127.0.0.1", 0), "127.0.0.1", runs)
        site = Visitor(context.enter_context(served), runs)
        hostile.test_ctrl_c_ends_it_while_a_page_follows_a_run(_as_process(site, Process(context.pop_all())))


def _as_process(site: Visitor, process: Process | None = None) -> hostile.Served:
    folder = site.runs / "train" / "net"
    if not folder.exists():
        visitor.training(site.runs, "net")
    known: Any = process or Process()
    return hostile.Served(site.door.port, site.door.token, known, folder)


FAULTS = (
    any_host,
    any_origin,
    embedded_anywhere,
    any_method,
    no_token,
    no_headers,
    paths_from_requests,
    links_followed,
    names_as_markup,
    bodies_of_any_size,
    bodies_without_end,
    heads_without_end,
    an_endless_queue,
    slow_ones_take_all_places,
    whole_bodies_are_read,
    predictions_are_kept,
    streams_are_waited_for,
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_a_planted_fault_is_noticed(
    fault: Callable[[Patch, Visitor], None], own_site: Visitor, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(sound, "PATIENCE", 0.3)
    with pytest.raises(NOTICED):
        fault(monkeypatch, own_site)


def test_a_sound_server_passes_the_lesser_attacks(own_site: Visitor, monkeypatch: Patch) -> None:
    """So it is the fault that is noticed above, and not that the attack is smaller and in one process."""
    _few(monkeypatch)
    served = _as_process(own_site)
    hostile.test_a_body_of_five_gibibytes_is_not_taken(served)
    hostile.test_a_thousand_at_once_each_get_their_own_answer_and_nothing_is_kept(served)
    _interrupted(own_site.runs)
