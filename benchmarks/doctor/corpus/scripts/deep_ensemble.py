import torch
from torch import nn

torch.manual_seed(178)
MEMBERS = 5


def member():
    return nn.Sequential(nn.Linear(1, 32), nn.Tanh(), nn.Linear(32, 1))


x = torch.rand(240, 1) * 4 - 2
y = torch.cos(2 * x) + 0.1 * torch.randn_like(x)
x_test = torch.linspace(-2, 2, 101).unsqueeze(1)
nets = [member() for _ in range(MEMBERS)]
opts = [torch.optim.Adam(n.parameters(), lr=1e-2) for n in nets]
mse = nn.MSELoss()

for epoch in range(40):
    losses = []
    for net, opt in zip(nets, opts):
        boot = torch.randint(0, 240, (120,))  # bootstrap sample for each member
        for rows in boot.split(40):
            opt.zero_grad()
            loss = mse(net(x[rows]), y[rows])
            loss.backward()
            opt.step()
        losses.append(loss.item())
    if epoch % 10 == 0:
        print(f"epoch {epoch:2d}", " ".join(f"{v:.3f}" for v in losses))

with torch.no_grad():
    votes = torch.stack([net(x_test) for net in nets])
error = mse(votes.mean(0), torch.cos(2 * x_test)).item()
print(f"committee error {error:.4f}, disagreement {votes.std(0).mean().item():.4f}")
