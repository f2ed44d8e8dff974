import torch
import torch.nn as nn
import torch.nn.functional as F


class StarNet(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return x


def stars(n):
    x = torch.randn(n, 10)
    teacher = torch.randn(10, 7, generator=torch.Generator().manual_seed(1))
    return x, (x @ teacher).argmax(1)


torch.manual_seed(0)
x, y = stars(2500)
net = StarNet([10, 64, 64, 7])
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(6):
    hits = 0
    for idx in torch.randperm(len(x)).split(50):
        out = net(x[idx])
        loss = F.cross_entropy(out, y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += (out.argmax(1) == y[idx]).sum().item()
    print(f"epoch {epoch}: {hits / len(x):.3f}")
