"""The doctor on a training that does not work."""

# %% [markdown]
# # 5. The doctor on a sick training
#
# This loop runs without an error, and its loss stays far from 0. Where are the bugs?

# %%
import torch
from torch import nn

import vitruvius

torch.manual_seed(0)
samples = torch.randn(512, 20)
labels = (samples[:, :3].sum(1) > 0).long()


def train(network: nn.Module, clears: bool) -> float:
    """A plain loop; `clears` says whether the gradients of the last step are cleared."""
    optimiser = torch.optim.SGD(network.parameters(), lr=0.5)
    criterion = nn.CrossEntropyLoss()
    for step in range(60):
        batch = slice(step % 8 * 64, step % 8 * 64 + 64)
        loss = criterion(network(samples[batch]), labels[batch])
        if clears:
            optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return loss.item()


# %%
with vitruvius.watch() as report:
    network = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 2), nn.Softmax(dim=1))
    last = train(network, clears=False)
print(f"loss {last:.3f}")
for finding in report.findings:
    print(f"{finding.bug}: {finding.fix}")

# %% [markdown]
# ## What forgotten gradients do
# Without `zero_grad` the loop is gradient descent with momentum 1: on a parabola it swings for ever.

# %%
worked = vitruvius.explain("zero_grad")
for loop, iterates in worked.answer["iterates"].items():
    print(f"{loop:8}", [round(float(w), 3) for w in iterates[:8]])

# %% [markdown]
# ## Cured
# Raw scores for the criterion, cleared gradients: both errors are gone. What is left is that every epoch
# reads the samples in the same order.

# %%
with vitruvius.watch() as report:
    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 2))
    last = train(network, clears=True)
print(f"loss {last:.3f}, findings: {[finding.bug for finding in report.findings]}")
