"""Where data were put in order, shuffled apart, split, or taken from a table: `# at` leads to `# here`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.checks.test_places import place
from vitruvius.checks._data_lines import features_line, order_line, shuffled_line, split_line

STEP = "    loss = criterion(net(xb), yb)  # at\n"
TWICE = """
x = x[torch.randperm(n)]
y = y[torch.randperm(n)]  # here
for xb, yb in zip(x.split(8), y.split(8)):
"""
GENERATOR = """
def batches(x, y):
    x = x[torch.randperm(n)]
    y = y[torch.randperm(n)]  # here
    for i in range(9):
        yield x[i:i + 3], y[i:i + 3]
for xb, yb in batches(x, y):
"""
MIXED = """
def mix(t):
    return t[torch.randperm(len(t))]
a, b = mix(x), mix(y)  # here
for xb, yb in DataLoader(TensorDataset(a, b)):
"""
LOADERS = """
a = DataLoader(x, shuffle=True)
b = DataLoader(y, shuffle=True)  # here
for xb, yb in zip(a, b):
"""
TOGETHER = """
p = torch.randperm(n)
x, y = x[p], y[p]
for xb, yb in DataLoader(TensorDataset(x, y), shuffle=True):
"""
ORDER = """
perm = torch.randperm(n)  # here
for epoch in range(3):
    for i in range(9):
        rows = perm[i:i + 3]
        loss = criterion(net(x[rows]), y[rows])  # at
"""
NEW_ORDER = """
for epoch in range(3):
    perm = torch.randperm(n)
    for i in range(9):
        rows = perm[i:i + 3]
        loss = criterion(net(x[rows]), y[rows])  # at
"""
LOADER = """
def loaders(data):
    first = DataLoader(data, batch_size=8)  # here
    return first, DataLoader(data)
train, test = loaders(load())
for epoch in range(3):
    for i, (x, y) in enumerate(train):
        loss = criterion(net(x), y)  # at
"""
TABLE = """
table = load()
x = table[:, :9]  # here
y = table[:, 8]
x_train, x_test = x[:5], x[5:]
y_train, y_test = y[:5], y[5:]
for i in rows:
    loss = criterion(net(x_train[i]), y_train[i])  # at
"""
PAIR = """
table = scale(load())
x, y = table, table[:, 8]  # here
for i in rows:
    loss = criterion(net(x[i]), y[i])  # at
"""
SCALED = """
x_train, x_val = train_test_split(x)  # here
x_train, x_val = scale(x_train), scale(x_val)
print(net(x_val))  # at
"""
SETS = """
rest, val_set = random_split(data, [9, 3])  # here
val_loader = DataLoader(val_set)
for x, y in val_loader:
    print(net(x))  # at
"""
LINES: dict[str, tuple[Callable[[str], str], str]] = {
    "two permutations": (shuffled_line, TWICE + STEP),
    "two permutations in a generator": (shuffled_line, GENERATOR + STEP),
    "a function that shuffles, called twice": (shuffled_line, MIXED + STEP),
    "labels shuffled in place": (
        shuffled_line,
        "y = load()\nrandom.shuffle(y)  # here\nfor xb, yb in zip(x, y):\n" + STEP,
    ),
    "two loaders": (shuffled_line, LOADERS + STEP),
    "one permutation for both": (shuffled_line, TOGETHER + STEP),
    "a permutation before the epochs": (order_line, ORDER),
    "a permutation in every epoch": (order_line, NEW_ORDER),
    "a loader that keeps the order": (order_line, LOADER),
    "features and target of one table": (lambda at: features_line(at, at), TABLE),
    "features and target in one statement": (lambda at: features_line(at, at), PAIR),
    "features and target that do not meet": (
        lambda at: features_line(at, at),
        PAIR.replace("x, y = table, table[:, 8]  # here", "x = table\ny = load()"),
    ),
    "a split before the rows are scaled": (split_line, SCALED),
    "a split of a data set": (split_line, SETS),
}


@pytest.mark.parametrize("name", LINES)
def test_the_line_to_change_is_found(name: str, tmp_path: Path) -> None:
    find, text = LINES[name]
    found, wanted = place(text, tmp_path / "script.py", find)
    assert found == wanted
