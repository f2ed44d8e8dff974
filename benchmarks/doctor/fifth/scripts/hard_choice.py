import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(25)


class Experts(nn.Module):
    def __init__(self, n_in=4, experts=3):
        super().__init__()
        self.gate = nn.Linear(n_in, experts)
        self.experts = nn.Linear(n_in, experts)

    def forward(self, x, tau):
        if self.training:
            choice = F.gumbel_softmax(self.gate(x), tau=tau, hard=True)
        else:
            choice = F.one_hot(self.gate(x).argmax(1), 3).float()
        return (choice * self.experts(x)).sum(1)


def pieces(n):
    x = torch.randn(n, 4)
    y = torch.where(x[:, 0] > 0, 2 * x[:, 1], -2 * x[:, 2] + 1)
    return x, y


x, y = pieces(1500)
xv, yv = pieces(400)
model = Experts()
opt = torch.optim.Adam(model.parameters(), lr=0.02)
for epoch in range(10):
    model.train()
    tau = max(0.5, 1.5 - 0.1 * epoch)
    for idx in torch.randperm(len(x)).split(50):
        loss = F.mse_loss(model(x[idx], tau), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        val = F.mse_loss(model(xv, tau), yv)
    if epoch % 2:
        print(f"epoch {epoch}: train {loss.item():.3f} valid {val:.3f} (variance {yv.var():.2f})")
