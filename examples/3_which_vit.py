"""Which Vision Transformer? Ranking without training, and how far it can be trusted."""

# %% [markdown]
# # 3. Which ViT? Ranking, honestly
#
# A zero-cost proxy scores a network at initialisation from one minibatch. Fifty networks ship with the
# accuracies that they reached, so that scores can be judged. The question is not whether a score correlates
# with accuracy, but whether it knows more than counting parameters.

# %%
import os
import tempfile

import vitruvius

os.chdir(tempfile.mkdtemp())  # run folders go there

# %% [markdown]
# ## How a score is worked out
# The norm of the gradient and SNIP on a network of a few weights.

# %%
worked = vitruvius.explain("zero_cost")
print({name: round(float(worked.answer[name]), 4) for name in ("loss", "grad_norm", "snip")})

# %% [markdown]
# ## Rank the fifty
# One seed is one minibatch, one forward and one backward pass. Accuracies are read after the last score is
# on disk.

# %%
ranked = vitruvius.rank(proxies=["grad_norm", "snip"], seeds=1, name="fifty")
ranked

# %% [markdown]
# ## How a rank correlation is worked out
# Kendall's tau counts pairs in the right order.

# %%
pairs = vitruvius.explain("rank_correlation")
print({name: str(pairs.answer[name]) for name in ("kendall", "spearman")})
