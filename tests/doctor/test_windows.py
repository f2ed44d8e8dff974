"""Windows of watched steps: where each begins."""

from itertools import pairwise

from vitruvius.doctor.windows import RARE, RARE_PERIOD, WHOLE, is_watched, next_window


def test_the_next_window_begins_with_the_first_step_that_is_watched() -> None:
    watched = [step for step in range(WHOLE, RARE + 3 * RARE_PERIOD) if is_watched(step, 0, False)]
    gaps = [(before, after) for before, after in pairwise([WHOLE - 1, *watched]) if after - before > 1]
    assert len(gaps) > 10
    for before, after in gaps:
        assert {next_window(step) for step in range(before + 1, after)} == {after}
