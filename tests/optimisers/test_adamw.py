"""AdamW with kept lists takes the steps of torch's own, whatever happens between them."""

import copy

import torch
from torch import nn

from vitruvius import optimisers
from vitruvius.optimisers.adamw import AdamW


def pair() -> tuple[list[nn.Parameter], AdamW, list[nn.Parameter], torch.optim.AdamW]:
    """Parameters with our optimiser, and copies of them with torch's."""
    source = torch.Generator().manual_seed(0)
    mine = [nn.Parameter(torch.randn(size, generator=source)) for size in ((3, 5), (70,), (1,), (2, 2))]
    theirs = copy.deepcopy(mine)

    def groups(parameters: list[nn.Parameter]) -> optimisers.Groups:
        return [
            {"params": parameters[:2], "weight_decay": 0.1},
            {"params": parameters[2:], "weight_decay": 0.0},
        ]

    ours = optimisers.get("adamw")(groups(mine), 0.01)
    assert isinstance(ours, AdamW)
    return mine, ours, theirs, torch.optim.AdamW(groups(theirs), lr=0.01, fused=True)


def test_twenty_steps_have_the_bits_of_torch_with_lost_gradients_new_rates_and_a_loaded_state() -> None:
    mine, ours, theirs, torchs = pair()
    source = torch.Generator().manual_seed(1)
    kept = 0
    for step in range(20):
        for index, (p, q) in enumerate(zip(mine, theirs, strict=True)):
            p.grad = None if step in (0, 5, 6) and index == 1 else torch.randn(p.shape, generator=source)
            q.grad = None if p.grad is None else p.grad.clone()
        for group in (*ours.param_groups, *torchs.param_groups):
            group["lr"] = 0.01 / (step + 1)
        if step == 12:
            ours.load_state_dict(copy.deepcopy(ours.state_dict()))
        kept += ours._lists is not None
        ours.step()
        torchs.step()
        assert all(torch.equal(p, q) for p, q in zip(mine, theirs, strict=True)), step
    assert kept > 10  # else torch's own step was compared with itself
    counts = [float(state["step"]) for state in ours.state.values()]
    assert sorted(counts) == [17, 20, 20, 20]


def test_gradients_are_divided_in_the_next_step_only() -> None:
    mine, ours, theirs, torchs = pair()
    source, scales = torch.Generator().manual_seed(1), {0: 3.0, 2: 7.0, 3: 1.5, 6: 3.0}
    for step in range(8):
        scale = scales.get(step)
        for p, q in zip(mine, theirs, strict=True):
            p.grad = torch.randn(p.shape, generator=source)
            q.grad = p.grad / (scale or 1.0)
        ours.divisor = None if scale is None else torch.tensor(scale)
        ours.step()
        torchs.step()
        assert ours.divisor is None
        assert all(torch.equal(p, q) for p, q in zip(mine, theirs, strict=True)), step


def test_a_loss_scaler_leaves_a_step_out_whose_gradients_overflowed() -> None:
    mine, ours, theirs, torchs = pair()
    for parameters, optimiser in ((mine, ours), (theirs, torchs)):
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        for factor in (1.0, 2.0, float("inf"), 3.0):
            loss = sum((p.square().sum() for p in parameters), torch.zeros(()))
            optimiser.zero_grad()
            (scaler.scale(loss) * factor).backward()
            scaler.step(optimiser)
            scaler.update()
    assert all(torch.equal(p, q) for p, q in zip(mine, theirs, strict=True))


def test_the_hooks_of_a_step_run_once() -> None:
    mine, ours, *_ = pair()  # torch's own AdamW has been built too, from where on its step has hooks
    seen: list[int] = []
    ours.register_step_post_hook(lambda *_: seen.append(len(seen)))
    for _ in range(3):
        for p in mine:
            p.grad = torch.ones_like(p)
        ours.step()
    assert seen == [0, 1, 2]


def test_parameters_that_are_added_later_learn_as_with_torch() -> None:
    mine, ours, theirs, torchs = pair()
    for parameters, optimiser in ((mine, ours), (theirs, torchs)):
        for step in range(6):
            if step == 3:
                parameters.append(nn.Parameter(torch.ones(4)))
                optimiser.add_param_group({"params": parameters[-1:]})
            for p in parameters:
                p.grad = torch.full_like(p, 0.1 * (step + 1))
            optimiser.step()
    assert len(mine) == 5
    assert all(torch.equal(p, q) for p, q in zip(mine, theirs, strict=True))
