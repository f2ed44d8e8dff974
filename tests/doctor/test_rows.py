"""Rows of batches are recognised by hash; labels of near rows agree more often than by chance, or do not."""

import warnings

import torch

from vitruvius.doctor.rows import Rows, are_different, hash_rows, shifted_axis


def test_equal_rows_have_equal_hashes() -> None:
    x = torch.randn(5, 3)
    hashes = hash_rows(x)
    assert hash_rows(x.flip(0)) == hashes[::-1]
    assert len(set(hashes)) == 5


def test_rows_of_bits_that_differ_have_different_hashes() -> None:
    draw = torch.Generator().manual_seed(0)
    bits = torch.randint(0, 2, (250, 64), generator=draw)
    rows = {tuple(row) for row in bits.tolist()}
    for kind in (torch.bool, torch.uint8, torch.float16, torch.float32, torch.float64, torch.complex128):
        assert len(set(hash_rows(bits.to(kind)))) == len(rows)
        assert hash_rows(bits.to(kind)[7:9]) == hash_rows(bits.to(kind))[7:9]


def test_rows_of_few_values_are_not_called_trained() -> None:
    for x, different in (
        (torch.randn(4, 3), True),
        (torch.zeros(4, 3), False),
        (torch.eye(4).long()[:, :3], False),
        (torch.eye(9).long(), True),
    ):
        assert are_different(hash_rows(x), x) is different


def test_a_row_that_comes_again_with_another_label_is_counted() -> None:
    rows, x = Rows(), torch.randn(4, 3)
    rows.add_labels(hash_rows(x), x, torch.tensor([0, 1, 0, 1]))
    rows.add_labels(hash_rows(x), x, torch.tensor([0, 1, 1, 0]))
    assert (rows.relabelled, rows.again) == (2, 4)


def test_words_with_several_followers_each_have_no_shuffled_labels() -> None:
    draw = torch.Generator().manual_seed(0)
    words = torch.eye(9)
    found = []
    for followers in (3, 9):
        rows = Rows()
        for _ in range(100):
            word = torch.randperm(9, generator=draw)[:2]
            label = (word + torch.randint(0, followers, (2,), generator=draw)) % 9
            rows.add_labels(hash_rows(words[word]), words[word], label)
        assert rows.relabelled > 0.2 * rows.again
        found.append(rows.labelled_anew() == (rows.relabelled, rows.again))
    assert found == [False, True]


def test_a_small_data_set_that_is_shuffled_in_many_epochs_is_told_from_words() -> None:
    draw = torch.Generator().manual_seed(0)
    x, y = torch.randn(16, 3, generator=draw), torch.arange(16) % 2
    rows = Rows()
    for epoch in range(50):
        mixed = y[torch.randperm(16, generator=draw)] if epoch % 2 else y  # only in every other epoch
        rows.add_labels(hash_rows(x), x, mixed)
    assert rows.labelled_anew() == (rows.relabelled, rows.again)


def test_one_row_that_always_comes_again_has_no_neighbours() -> None:
    rows, x = Rows(), torch.zeros(1, 3)
    for label in (0, 1, 0):
        rows.add_labels(hash_rows(x), x, torch.tensor([label]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rows.neighbours() is None


def test_neighbours_agree_where_labels_follow_the_rows_and_by_chance_where_not() -> None:
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(400, 2, generator=draw)
    found = []
    for y in ((x[:, 0] > 0).long(), torch.randint(0, 2, (400,), generator=draw)):
        rows = Rows()
        rows.add_labels(list(range(400)), x, y)
        agreement, chance, count = rows.neighbours() or (0.0, 0.0, 0)
        assert count == 400
        found.append(agreement - chance)
    assert found[0] > 0.3
    assert abs(found[1]) < 0.1


def test_targets_one_step_later_are_recognised() -> None:
    text = torch.randint(0, 9, (2, 7))
    assert shifted_axis(text[:, :-1], text[:, 1:]) == 1
    assert shifted_axis(text[:, :-1], text[:, 1:].flatten()) == 1
    assert shifted_axis(text.T[:-1], text.T[1:].flatten()) == 0
    assert shifted_axis(text[:, :-1], text[:, :-1].flip(1)) is None
