"""One process alone: every function is a no-op. (Two processes are tested in tests/verbs/test_train.py.)"""

import pytest
import torch
from torch import nn

from vitruvius.core.errors import UserError
from vitruvius.training import distributed


def test_alone_there_is_one_process_of_rank_0(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TORCHELASTIC_RUN_ID", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    with distributed.init(torch.device("cpu")):
        assert (distributed.rank(), distributed.world_size()) == (0, 1)


def test_alone_nothing_is_wrapped_summed_gathered_or_broadcast() -> None:
    model, value = nn.Linear(1, 1), torch.tensor([2.0])
    assert distributed.wrap(model) is model
    assert distributed.unwrap(model) is model
    assert distributed.all_reduce_sum(value).tolist() == [2.0]
    assert distributed.all_gather(value) == [value]
    assert distributed.any_rank(True)
    assert not distributed.any_rank(False)
    assert distributed.broadcast_string("a path") == "a path"


def test_a_rank_without_torchrun_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_RANK", "0")
    monkeypatch.delenv("RANK", raising=False)
    with (
        pytest.raises(UserError, match="LOCAL_RANK is set but RANK is not"),
        distributed.init(torch.device("cpu")),
    ):
        pass
