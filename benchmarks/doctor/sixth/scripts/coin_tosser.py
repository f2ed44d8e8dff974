import torch
from torch import nn
import torch.nn.functional as F


class Experts(nn.Module):
    def __init__(self, n_experts=4):
        super().__init__()
        self.router = nn.Linear(3, n_experts)
        self.experts = nn.ModuleList(nn.Linear(3, 1) for _ in range(n_experts))

    def forward(self, x, tau):
        if self.training:
            choice = F.gumbel_softmax(self.router(x), tau=tau, hard=True)
        else:
            choice = F.one_hot(self.router(x).argmax(-1), len(self.experts)).float()
        return (torch.cat([e(x) for e in self.experts], -1) * choice).sum(-1, keepdim=True)


def tosses(n):
    x = torch.randn(n, 3)
    return x, torch.where(x[:, :1] > 0, 2 * x[:, 1:2], -x[:, 2:3] + 1)


torch.manual_seed(5)
model = Experts()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x_val, y_val = tosses(300)
for step in range(600):
    model.train()
    x, y = tosses(64)
    loss = F.mse_loss(model(x, tau=max(0.5, 1 - step / 600)), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 120 == 119:
        model.eval()
        with torch.no_grad():
            print(step + 1, f"{loss.item():.4f} val {F.mse_loss(model(x_val, tau=0.5), y_val).item():.4f}")
