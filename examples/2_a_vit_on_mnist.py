"""A small Vision Transformer on MNIST: trained, and looked into."""

# %% [markdown]
# # 2. A Vision Transformer on MNIST, trained and looked into
#
# MNIST is part of the package. The network below is small enough for a laptop's CPU: one pass over 55,000
# digits.

# %%
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import torch

import vitruvius
from vitruvius import datasets
from vitruvius.nn import attention_maps, vit
from vitruvius.training import predictor

# %% [markdown]
# ## A network as data
# An `Arch` says everything about a network. What it costs is known before it is built.

# %%
small = {"patch": 7, "width": 32, "depth": 2, "heads": 2, "head_dim": 16, "mlp": 64}
arch = vitruvius.Arch(image=28, channels=1, classes=10, **small)
price = vitruvius.cost(arch)
print(f"{price.params:,} parameters, {price.macs:,} multiply-adds for one image, {arch.tokens} tokens")

# %%
os.chdir(tempfile.mkdtemp())  # run folders go there
settings = [f"{name}={value}" for name, value in small.items()]
result = vitruvius.train(data="mnist", set=settings, epochs=2, batch=64, lr=0.003, name="small")
print(f"test accuracy {result.test_accuracy:.1%} after {result.epochs} epochs")
assert result.test_accuracy > 0.85

# %% [markdown]
# ## Looking into it
# The attention of the last layer says what the class token looked at.

# %%
trained = predictor.load(Path("runs/train/small"))
test = datasets.get("mnist").test
images = test.x[:4]
pixels = (images / 255 - trained.mean) / trained.std
with torch.no_grad():
    layers = attention_maps.attention(trained.net, pixels)
    maps = attention_maps.saliency(trained.net, attention_maps.rollout(layers))
figure, axes = plt.subplots(2, 4, figsize=(6, 3))
for place, (image, seen) in enumerate(zip(images, maps, strict=True)):
    axes[0, place].imshow(image.squeeze(), cmap="gray_r")
    axes[1, place].imshow(seen.squeeze(), cmap="Blues")
    axes[0, place].set_title(f"digit {int(test.y[place])}")
for each in axes.flat:
    each.set_axis_off()
plt.show()

# %% [markdown]
# A fresh network with the same seed has the same weights: everything here can be done again to the bit.

# %%
first, second = (vit.build(arch, seed=0) for _ in range(2))
print(all(torch.equal(a, b) for a, b in zip(first.parameters(), second.parameters(), strict=True)))
