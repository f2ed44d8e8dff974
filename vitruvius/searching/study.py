"""The trainings of a search as an Optuna study: a queue that survives kills and that machines can share.

A trial is one training of a network up to a step: parameters `network` (its number), `steps` and `replicate`,
value the validation accuracy. Trials are asked and told. One that ends at a rung is PRUNED, with its accuracy
as intermediate value at that step, so that Optuna compares full trainings alone; a promoted network goes on
in a trial of its own. One that was RUNNING when its process died is failed and queued again. A trial that
failed with a reason is finished: the network is a row with that reason.
"""

import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from vitruvius.core import files
from vitruvius.core.errors import UserError
from vitruvius.searching.trials import Outcome

if TYPE_CHECKING:
    import optuna

BEAT, GRACE = 20, 120
"""Seconds between two signs of life of a shared study's trainings, and those after which one is dead."""
OPENINGS, WAIT = 5, 0.2
"""Times that a storage is opened before its error is told, and the seconds between them."""
REASON, OWNER, CONFIG, HASH = "reason", "owner", "config", "hash"
DUPLICATE = "another trial does the same"


class Request(NamedTuple):
    """Train the network with this number up to a step; `replicate` 1 is its second seed."""

    network: int
    steps: int
    replicate: int = 0


class OtherSettings(UserError):
    """A study of this name belongs to a search with other settings."""


class Study:
    """The queue and its results; of one search, or shared by several through a URL."""

    def __init__(self, url: str, name: str, owner: str, config: str) -> None:
        optuna = require()
        self.states = optuna.trial.TrialState
        self.is_shared = not url.startswith("sqlite:")
        self.owner = owner
        beat: dict[str, Any] = {"heartbeat_interval": BEAT, "grace_period": GRACE} if self.is_shared else {}

        def open_() -> tuple[Any, Any]:
            storage = optuna.storages.RDBStorage(_with_driver(url), **beat)
            # The sampler is never asked: every parameter of a trial is given when it is queued.
            sampler = optuna.samplers.RandomSampler(seed=0)
            about: dict[str, Any] = {"study_name": name, "direction": "maximize", "load_if_exists": True}
            study = optuna.create_study(storage=storage, sampler=sampler, **about)
            if CONFIG not in study.user_attrs:
                study.set_user_attr(CONFIG, config)
            return storage, study

        try:
            with _quiet():
                self.storage, self.study = _opened(open_)
        except ImportError as error:
            raise UserError(f"--storage {_hidden(url)}: {error}; pip install 'vitruvius[search]'") from None
        except Exception as error:
            why = str(error).strip().partition("\n")[0]
            raise UserError(f"--storage {_hidden(url)}: {type(error).__name__}: {why}") from None
        if self.study.user_attrs[CONFIG] != config:
            raise OtherSettings(
                f"--storage {_hidden(url)}: its study {name} has other settings; choose another --name"
            )

    def close(self) -> None:
        """Close the connections to the storage."""
        self.storage.remove_session()
        self.storage.engine.dispose()

    def finished(self) -> dict[Request, Outcome]:
        """Return the outcomes of all trainings so far; of two of the same request that of the first trial."""
        found: dict[Request, Outcome] = {}
        for trial in self._ended():
            about = trial.user_attrs
            if trial.state != self.states.FAIL:
                fields = {key: about[key] for key in ("loss", "correct", "seconds") if key in about}
                found.setdefault(_request(trial), Outcome(accuracy=trial.value, **fields))
            elif about.get(REASON, DUPLICATE) != DUPLICATE:
                seconds = about.get("seconds", 0.0)
                found.setdefault(_request(trial), Outcome(failed=about[REASON], seconds=seconds))
        return found

    def fault(self) -> str:
        """Say which outcome is not the one that was told; "" if all are. Older versions kept no hash."""
        hashes = {
            _request(trial): trial.user_attrs[HASH]
            for trial in reversed(self._ended())
            if HASH in trial.user_attrs and not self._is_to_be_done_again(trial)
        }
        finished = self.finished()
        for request, known in hashes.items():
            if request not in finished or _hash(request, finished[request]) != known:
                which = f"network {request.network} after {request.steps} steps"
                return f"the hash of the outcome of {which} does not match"
        return ""

    def requeue_own(self) -> int:
        """Fail what this search left RUNNING when it was killed; return how many trainings that were."""
        left = [
            trial
            for trial in self._trials(self.states.RUNNING)
            if not self.is_shared or trial.user_attrs.get(OWNER) == self.owner
        ]
        for trial in left:
            self.study.tell(trial.number, state=self.states.FAIL)
        return len(left)

    def queue(self, requests: Iterable[Request]) -> None:
        """Queue the requests that are neither finished nor waiting nor running."""
        if self.is_shared:
            with _quiet():
                require().storages.fail_stale_trials(self.study)
        pending = {_request(trial) for trial in self._trials(self.states.WAITING, self.states.RUNNING)}
        known = pending | self.finished().keys()
        for request in requests:
            if request not in known:
                self.study.enqueue_trial(request._asdict())

    def claim(self, wanted: Iterable[Request], most: int) -> list[tuple["optuna.Trial", Request]]:
        """Take up to `most` of the wanted trainings out of the queue: they are RUNNING, and this search's
        own.
        """
        states, requests = self.states, set(wanted)
        claimed: list[tuple[Any, Request]] = []
        while len(claimed) < most and self._trials(states.WAITING):
            with _quiet():
                trial = self.study.ask(_distributions())
            trial.set_user_attr(OWNER, self.owner)
            request = Request(**trial.params)
            earlier = [
                other
                for other in self._trials(states.COMPLETE, states.PRUNED, states.RUNNING)
                if _request(other) == request and other.number < trial.number
            ]
            # Another search may have queued the same, or taken the last that waited: then a new one is drawn.
            if earlier or request not in requests:
                trial.set_user_attr(REASON, DUPLICATE)
                self.study.tell(trial, state=states.FAIL)
            else:
                claimed.append((trial, request))
        return claimed

    def tell(self, trial: "optuna.Trial", outcome: Outcome, rung: int | None = None) -> None:
        """Record the outcome of a training that was claimed; `rung` is the step at which it pauses."""
        trial.set_user_attr("seconds", outcome.seconds)
        if outcome.accuracy is None:
            outcome = outcome._replace(failed=outcome.failed or "it has no accuracy")
        trial.set_user_attr(HASH, _hash(Request(**trial.params), outcome))
        if outcome.accuracy is None:
            trial.set_user_attr(REASON, outcome.failed)
            self.study.tell(trial, state=self.states.FAIL)
            return
        for key in ("loss", "correct"):
            if getattr(outcome, key):
                trial.set_user_attr(key, getattr(outcome, key))
        if rung is None:
            self.study.tell(trial, outcome.accuracy)
        else:
            trial.report(outcome.accuracy, rung)
            self.study.tell(trial, state=self.states.PRUNED)

    def release(self, trials: Iterable["optuna.Trial"]) -> None:
        """Fail trainings that were claimed and not finished: queued again when the search goes on."""
        for trial in trials:
            self.study.tell(trial, state=self.states.FAIL)

    @contextmanager
    def alive(self, trials: Iterable["optuna.Trial"]) -> Iterator[None]:
        """Inside, other machines are told again and again that these trainings are being worked on."""
        ended, numbers = threading.Event(), [trial._trial_id for trial in trials]

        def beat() -> None:
            while not ended.is_set():
                for number in numbers:
                    self.storage.record_heartbeat(number)
                ended.wait(BEAT)

        thread = threading.Thread(target=beat, daemon=True)
        if self.is_shared:
            thread.start()
        try:
            yield
        finally:
            ended.set()
            if self.is_shared:
                thread.join()

    def _is_to_be_done_again(self, trial: Any) -> bool:
        """Whether a trial was released, or left RUNNING by a kill, perhaps while it was being told."""
        return trial.state == self.states.FAIL and REASON not in trial.user_attrs

    def _ended(self) -> list[Any]:
        """Return the trials that have ended, in the order of their numbers."""
        return self._trials(self.states.COMPLETE, self.states.PRUNED, self.states.FAIL)

    def _trials(self, *states: Any) -> list[Any]:
        """Return the trials in these states that carry their parameters, in the order of their numbers."""
        trials = self.study.get_trials(deepcopy=False, states=states)
        return [trial for trial in trials if _parameters(trial).keys() == set(Request._fields)]


def _opened(open_: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
    """Open a storage and its study; again where another search makes the same in the same moment."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import IntegrityError, ProgrammingError

    for _ in range(OPENINGS - 1):
        with suppress(IntegrityError, ProgrammingError, StorageInternalError):
            return open_()
        time.sleep(WAIT)
    return open_()


def _request(trial: Any) -> Request:
    """Return what a trial is about."""
    return Request(**_parameters(trial))


def _parameters(trial: Any) -> dict[str, int]:
    """Return the parameters of a trial; those queued while the machine that takes it sets them."""
    is_set = trial.params.keys() == set(Request._fields)
    found: dict[str, int] = trial.params if is_set else trial.system_attrs.get("fixed_params", {})
    return found


def _hash(request: Request, outcome: Outcome) -> str:
    """Return the hash of what a training has reached; of one that failed, of its reason."""
    reached = [outcome.accuracy, outcome.loss or None, outcome.correct]
    return files.content_hash([*request, *([outcome.failed] if outcome.accuracy is None else reached)])[:16]


def _distributions() -> dict[str, Any]:
    whole = require().distributions.IntDistribution
    return {
        "network": whole(-(10**6), 10**9),
        "steps": whole(1, 10**12),
        "replicate": whole(0, 100),
    }


def require() -> Any:
    """Return Optuna; a search without it is refused."""
    try:
        import optuna
    except ImportError:
        raise UserError("search needs Optuna: pip install 'vitruvius[search]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _quiet() -> AbstractContextManager[Any]:
    """Without the warnings by which Optuna marks what it may still change."""
    return warnings.catch_warnings(action="ignore")


def _with_driver(url: str) -> str:
    """Return a URL with the driver that the extra installs, unless it names one.

    >>> _with_driver("postgresql://db/search")
    'postgresql+psycopg://db/search'
    """
    return url.replace("postgresql://", "postgresql+psycopg://", 1)


def _hidden(url: str) -> str:
    """Return a URL without its password.

    >>> _hidden("postgresql://ann:secret@db/search")
    'postgresql://ann@db/search'
    """
    scheme, separator, rest = url.partition("://")
    user, at, server = rest.rpartition("@")
    return f"{scheme}{separator}{user.partition(':')[0]}{at}{server}"
