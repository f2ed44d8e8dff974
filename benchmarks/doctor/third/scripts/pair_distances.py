"""Learn an embedding in which sensor readings of the same machine lie close."""
import torch
import torch.nn as nn

torch.manual_seed(5)

machines = torch.randn(8, 12)


def sample(n):
    who = torch.randint(0, 8, (n,))
    return machines[who] + 0.3 * torch.randn(n, 12), who


encoder = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 4))
optimizer = torch.optim.Adam(encoder.parameters(), lr=1e-3)


def pairwise(z):
    diff = z[:, None, :] - z[None, :, :]
    return torch.sqrt((diff ** 2).sum(dim=-1))


def contrastive(z, who, margin=1.0):
    d = pairwise(z)
    same = (who[:, None] == who[None, :]).float()
    pull = same * d ** 2
    push = (1 - same) * torch.clamp(margin - d, min=0) ** 2
    return (pull + push).mean()


for step in range(60):
    x, who = sample(48)
    loss = contrastive(encoder(x), who)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        print(step, float(loss.detach()))
