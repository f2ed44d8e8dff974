"""Learn which three of twelve inputs to look at."""
import torch
from torch import nn
from torch.nn import functional as F


class Selector(nn.Module):
    def __init__(self, inputs=12, picks=3):
        super().__init__()
        self.logits = nn.Parameter(0.01 * torch.randn(picks, inputs))
        self.net = nn.Sequential(nn.Linear(picks, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x, tau):
        if self.training:
            choice = F.gumbel_softmax(self.logits.expand(len(x), -1, -1), tau=tau, hard=True)
            chosen = (choice * x.unsqueeze(1)).sum(-1)
        else:
            chosen = x[:, self.logits.argmax(1)]
        return self.net(chosen)


def draw(n):
    x = torch.randn(n, 12)
    return x, (x[:, 1:2] + x[:, 4:5] - x[:, 9:10]) / 1.7


torch.manual_seed(194)
model = Selector()
optimizer = torch.optim.Adam(
    [{"params": [model.logits], "lr": 3e-2}, {"params": model.net.parameters(), "lr": 3e-3}]
)
for step in range(400):
    x, y = draw(128)
    tau = max(0.3, 1.0 - step / 400)
    loss = F.mse_loss(model(x, tau), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 0:
        print(f"step {step:3d} loss {loss.item():.3f}")
model.eval()
x, y = draw(500)
with torch.no_grad():
    print("selected", sorted(model.logits.argmax(1).tolist()), "test mse", F.mse_loss(model(x, 1.0), y).item())
