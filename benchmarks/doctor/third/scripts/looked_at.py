"""Attention pooling whose weights are kept sharp by an entropy term."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(352)


class Reader(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.embed = nn.Linear(5, dim)
        self.query = nn.Parameter(torch.randn(dim))
        self.key, self.value = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.out = nn.Linear(dim, 3)

    def forward(self, x):
        h = torch.tanh(self.embed(x))
        scores = self.key(h) @ self.query / h.size(-1) ** 0.5
        log_w = F.log_softmax(scores, dim=1)
        w = log_w.exp()
        pooled = (w.unsqueeze(-1) * self.value(h)).sum(dim=1)
        entropy = -(w * log_w).sum(dim=1).mean()
        return self.out(pooled), entropy


def marked(n=48, length=12):
    x = torch.randn(n, length, 5)
    x[:, :, 0] = 0
    y = torch.randint(0, 3, (n,))
    r, where = torch.arange(n), torch.randint(0, length, (n,))
    x[r, where, 0] = 3.0
    x[r, where, 1:4] = 2.0 * F.one_hot(y, 3).float()
    return x, y


model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(150):
    x, y = marked()
    logits, entropy = model(x)
    loss = F.cross_entropy(logits, y) + 0.05 * entropy
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, f"{loss.item():.4f} entropy {entropy.item():.3f}")
