"""One process: every function is a no-op. Several: equal to one, whatever is left over; a loss ends all."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest
import torch

from vitruvius.core.errors import UserError, WorkFailed
from vitruvius.training import distributed


def test_alone_there_is_one_process_of_rank_0(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TORCHELASTIC_RUN_ID", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    with distributed.init():
        assert (distributed.rank(), distributed.world_size()) == (0, 1)


def test_alone_nothing_is_wrapped_summed_gathered_or_broadcast() -> None:
    value = torch.tensor([2.0])
    assert distributed.share(value) == (value, True)
    assert distributed.reduce_gradients([], value) == (value, None)
    assert distributed.all_reduce_sum(value).tolist() == [2.0]
    assert distributed.all_gather(value) == [value]
    assert distributed.broadcast_string("a path") == "a path"


def test_a_rank_without_torchrun_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.delenv("RANK", raising=False)
    with (
        pytest.raises(UserError, match="LOCAL_RANK is set but RANK is not"),
        distributed.init(),
    ):
        pass


@pytest.mark.parametrize(("name", "value"), [("MASTER_PORT", "99999"), ("RANK", "first")])
def test_a_port_or_rank_that_is_none_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    usual = {
        "RANK": "0",
        "LOCAL_RANK": "0",
        "WORLD_SIZE": "1",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "0",
    }
    for key, text in {**usual, name: value}.items():
        monkeypatch.setenv(key, text)
    with pytest.raises(WorkFailed, match="do not find one another"), distributed.init():
        pass


def ranks(*words: str) -> Any:
    """What tests/training/ranks.py prints."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    for name in ("TORCHELASTIC_RUN_ID", "LOCAL_RANK", "RANK", "WORLD_SIZE"):
        environment.pop(name, None)
    command = [sys.executable, "-m", "tests.training.ranks", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def found() -> Any:
    """All experiments with several processes, from one program that imports torch once."""
    return ranks()


def test_every_remainder_trains_as_one_process_does(found: Any) -> None:
    """Batches of 6 with 0 to 5 samples left over, 2, 3 and 4 processes, float64: weights and records."""
    assert set(found["remainders"]) == {f"{processes} {left}" for processes in (2, 3, 4) for left in range(6)}
    assert max(found["remainders"].values()) < 1e-12


def test_random_state_belongs_to_the_rank(found: Any) -> None:
    assert found["rng"] == {"differ": True, "restored": [True, True, True]}


@pytest.mark.parametrize("victim", ["0", "1", "2"])
def test_a_killed_rank_ends_the_others_with_a_message(found: Any, victim: str) -> None:
    survivors = found["killed"][victim]
    assert len(survivors) == 2
    for message in survivors:
        assert message == (
            f"process {victim} of 0 to 2 has ended: training stopped, the last checkpoint is kept and "
            "--resume goes on from it"
        )


def test_a_process_that_waits_for_a_lost_one_is_ended_from_outside(found: Any) -> None:
    """As NCCL would, the main threads of ranks 0 and 2 wait for ever; rank 1 is killed."""
    assert found["stuck"] == {"0": 1, "2": 1}


def test_a_request_of_one_rank_stops_all_in_the_same_step(found: Any) -> None:
    assert len(set(found["stopped"])) == 1
    assert "stopped after step" in found["stopped"][0]


def test_a_group_that_was_not_formed_does_not_make_the_next_one_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes find one another by the name of their group, which torch counts."""
    for name, value in {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "99999",
        "RANK": "0",
        "WORLD_SIZE": "1",
    }.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(WorkFailed, match="do not find one another"), distributed.group():
        pass
    store = torch.distributed.HashStore()  # type: ignore[attr-defined]
    with distributed.group(store, 0, 1):
        assert torch.distributed.distributed_c10d._get_default_group().group_name == "0"
