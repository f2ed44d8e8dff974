"""Linear and quadratic attention on long sequences: when the table of all pairs is too much."""

# %% [markdown]
# # 6. Linear and quadratic attention at length
#
# Softmax attention compares all pairs: its work grows with the square of the length. A kernel that is a
# product of features can be summed over the keys once: its work grows with the length. When does that pay?

# %%
import matplotlib.pyplot as plt
import torch

import vitruvius
from vitruvius import kernels

# %% [markdown]
# ## Counted
# N tokens of width D = 16. The features of the quadratic kernel number C = (D + 1)(D + 2)/2.

# %%
worked = vitruvius.explain("kernel_attention", dim=16)
print("crossovers:", worked.answer["crossovers"])

# %%
width = 16
features = (width + 1) * (width + 2) // 2
lengths = [2**n for n in range(5, 15)]
softmax = [2 * n * n * width for n in lengths]
quadratic = [2 * n * features * width + 2 * n * features for n in lengths]
figure, axes = plt.subplots(figsize=(5, 3))
axes.loglog(lengths, softmax, "o-", label="softmax")
axes.loglog(lengths, quadratic, "s-", label="quadratic kernel, by features")
axes.set_xlabel("tokens")
axes.set_ylabel("multiply-adds")
axes.legend()
figure.tight_layout()
plt.show()

# %% [markdown]
# ## The same result, another order of products
# Through the features, the table of weights is never made; written out, it is. Both are the same numbers.

# %%
torch.manual_seed(0)
q, k, v = (torch.randn(1, 1, 64, width, dtype=torch.float64) for _ in range(3))
for name in ("quadratic", "linear"):
    kernel = kernels.get(name)
    gap = (kernel.attend(q, k, v) - kernel.weights(q, k) @ v).abs().max().item()
    print(f"{name:10} largest difference {gap:.1e}")
    assert gap < 1e-9

# %% [markdown]
# ## It is not the same attention
# A kernel of small degree cannot choose as sharply as the exponential: the largest weight that a query
# gives when one key matches it.

# %%
key = torch.randn(1, 1, 256, width, dtype=torch.float64)
for length in (1, 2, 4):
    query = length * key[:, :, :1]
    for name in ("softmax", "quadratic", "linear"):
        weight = kernels.get(name).weights(query, key)[0, 0, 0, 0].item()
        print(f"query {length} x key, {name:10} weight of that key {weight:.3f}")
