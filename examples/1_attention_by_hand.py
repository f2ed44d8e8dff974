"""Attention, from three dot products on paper to the kernels that compute it."""

# %% [markdown]
# # 1. Attention by hand, and the kernels
#
# One query looks at three keys. Which value comes out? First on the board, then your own attempt, then the
# functions that a network calls.

# %%
import torch
from torch.nn.functional import scaled_dot_product_attention

import vitruvius
from vitruvius import kernels

# %% [markdown]
# A lesson solves its question step by step and proves the answer by a second method.

# %%
worked = vitruvius.explain("attention")
worked

# %% [markdown]
# ## Check your own numbers
# Here the scores were divided by the root of 3, which was not asked. The check names the first wrong value
# and the mistake behind it; what follows rightly from it still counts.

# %%
mine = {"scores": [2.309, 4.041, 4.619], "weights": [0.0598, 0.3380, 0.6022]}
print(vitruvius.check("attention", mine).verdict)

# %% [markdown]
# ## The same with tensors
# Shapes: B batch, H heads, N queries, M keys, D width. A kernel says how keys are weighted: `weights` are
# the rows of the softmax, `attend` mixes the values with them.

# %%
keys = torch.tensor([[2.0, 0, 0], [3, -1, 0], [1, 0, 2]])[None, None]
values = torch.tensor([[5.0, 4, 5], [3, 5, 5], [1, 2, 4]])[None, None]
queries = torch.tensor([[1.0, 0, 4], [2, -1, 3], [4, 6, 1]])[None, None]

softmax = kernels.get("softmax")
weights = softmax.weights(queries, keys, beta=1.0)
output = softmax.attend(queries, keys, values, beta=1.0)
print(weights[0, 0].round(decimals=4))
print("second output:", output[0, 0, 1].tolist())
print("on the board: ", worked.answer["output"])

# %% [markdown]
# A mask hides keys. A hidden weight is exactly 0 and the others still add up to 1.

# %%
print(softmax.weights(queries, keys, "causal", beta=1.0)[0, 0].round(decimals=4))

# %% [markdown]
# ## Other kernels
# `hardmax` takes the best key alone, `quadratic` and `linear` replace the exponential by something that can
# be computed without the table of all pairs. All obey the same laws: rows add up to 1, `attend` is `weights
# @ values`.

# %%
for name in ("softmax", "hardmax", "quadratic", "linear"):
    kernel = kernels.get(name)
    weights = kernel.weights(queries, keys)
    assert torch.allclose(kernel.attend(queries, keys, values), weights @ values, atol=1e-5)
    print(f"{name:10} weights of query 2: {[round(w, 4) for w in weights[0, 0, 1].tolist()]}")

# %%
fused = scaled_dot_product_attention(queries, keys, values)
ours = softmax.attend(queries, keys, values)
print("largest difference from torch's own:", (ours - fused).abs().max().item())
assert torch.allclose(ours, fused, atol=1e-5)
