"""Species from feather spectra with a deep plain network."""
import torch
import torch.nn as nn


def init_weights(module):
    if isinstance(module, nn.Linear):
        nn.init.xavier_normal_(module.weight)
        nn.init.zeros_(module.bias)


class FeatherNet(nn.Module):
    def __init__(self, inputs=16, width=64, depth=10, species=4):
        super().__init__()
        layers = [nn.Linear(inputs, width), nn.Sigmoid()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.Sigmoid()]
        self.trunk = nn.Sequential(*layers)
        self.head = nn.Linear(width, species)
        self.apply(init_weights)

    def forward(self, x):
        return self.head(self.trunk(x))


def feathers(n, base):
    y = torch.randint(0, len(base), (n,))
    return (base[y] + 0.7 * torch.randn(n, base.size(1))) / 1.2, y


torch.manual_seed(2140)
base = torch.randn(4, 16)
x, y = feathers(800, base)
vx, vy = feathers(200, base)
model = FeatherNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
for epoch in range(6):
    for idx in torch.randperm(len(x)).split(50):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = (model(vx).argmax(1) == vy).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.4f} accuracy {acc:.3f}")
