import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.manual_seed(131)


def rings(n):
    y = torch.randint(0, 2, (n,))
    r = 0.8 + 0.7 * y + 0.2 * torch.randn(n)
    a = 6.2832 * torch.rand(n)
    return torch.stack([r * a.cos(), r * a.sin()], 1), y


model = nn.Sequential(nn.Linear(2, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))
ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.95))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for step in range(300):
    x, y = rings(32)
    loss = F.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update_parameters(model)
    if step % 60 == 0:
        print(f"step {step} loss {loss.item():.3f}")

ema.eval()
x, y = rings(600)
with torch.no_grad():
    print("last weights", (model(x).argmax(1) == y).float().mean().item())
    print("averaged    ", (ema(x).argmax(1) == y).float().mean().item())
