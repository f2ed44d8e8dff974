"""Autoencoders, principal components, and what a probe finds in their features."""

# %% [markdown]
# # 4. Autoencoders, PCA and probes
#
# The data: 100 dimensions, 20 of which have ten times the variance and decide the label, turned round so
# that no single coordinate shows it.

# %%
import os
import tempfile

import vitruvius

os.chdir(tempfile.mkdtemp())  # run folders go there

# %% [markdown]
# ## What a linear autoencoder can reach
# Its minimum is the sum of the variances it leaves out, and principal components reach it.

# %%
worked = vitruvius.explain("linear_autoencoder")
print("eigenvalues", worked.answer["eigenvalues"], "smallest loss", worked.answer["minimum"])

# %% [markdown]
# ## Train some
# Latent sizes below, at and above the 20 directions that matter. The result gives the optimum beside the
# loss.

# %%
trained = vitruvius.pretrain(
    data="synthetic",
    objective=["reconstruct"],
    latent=[5, 20, 100],
    repeats=1,
    epochs=3,
    name="latents",
)
trained

# %% [markdown]
# ## What a simple classifier finds in the features
# Always beside raw samples, PCA and the same encoder untrained: a probe that is not better than these shows
# nothing.

# %%
vitruvius.probe("pca:20", data="synthetic", labels=200, draws=3)
