import torch
import torch.nn as nn

torch.manual_seed(153)
BITS = 5


def strings(n):
    bits = torch.randint(0, 2, (n, BITS))
    return bits.float() * 2 - 1, bits.sum(1) % 2


class ParityNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(BITS, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 2))

    def forward(self, x):
        return self.net(x)


net = ParityNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
ce = nn.CrossEntropyLoss()
for step in range(300):
    x, y = strings(64)
    x = x + 0.2 * torch.randn_like(x)
    loss = ce(net(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 60 == 0:
        print(f"step {step:3d}: {loss.item():.3f}")
x, y = strings(500)
x = x + 0.2 * torch.randn_like(x)
with torch.no_grad():
    print("accuracy on new noise", (net(x).argmax(1) == y).float().mean().item())
