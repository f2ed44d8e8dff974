"""Two tasks with one trunk and two optimisers."""
import itertools

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(211)


class TwoTasks(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 48), nn.ReLU())
        self.kind = nn.Linear(48, 4)
        self.size = nn.Linear(48, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.kind(h), self.size(h).squeeze(1)


centres = torch.randn(4, 10)
model = TwoTasks()
opt_kind = torch.optim.Adam(itertools.chain(model.trunk.parameters(), model.kind.parameters()), lr=2e-3)
opt_size = torch.optim.Adam(itertools.chain(model.trunk.parameters(), model.size.parameters()), lr=2e-3)

for step in range(150):
    y = torch.randint(0, 4, (48,))
    x = centres[y] + 0.7 * torch.randn(48, 10)
    size = x[:, :3].sum(1).tanh()
    logits, s = model(x)
    loss = F.cross_entropy(logits, y) + F.mse_loss(s, size)
    opt_kind.zero_grad()
    opt_size.zero_grad()
    loss.backward()
    opt_kind.step()
    opt_size.step()
    if step % 30 == 0:
        print(step, f"{loss.item():.4f}")
