import torch
from torch import nn

torch.manual_seed(11)

x = torch.randn(2000, 10).pow(3)
w_true = torch.randn(10)
y = ((x * w_true).sum(1) > 0).float().unsqueeze(1)

model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def bce(p, t):
    return -(t * torch.log(p) + (1 - t) * torch.log(1 - p)).mean()


for step in range(300):
    batch = torch.randint(0, len(x), (64,))
    p = model(x[batch])
    loss = bce(p, y[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
model.eval()
with torch.no_grad():
    share = ((model(x) > 0.5).float() == y).float().mean()
print(f"share right: {share:.3f}")
