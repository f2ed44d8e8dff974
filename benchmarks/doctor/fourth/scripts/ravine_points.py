import torch
import torch.nn as nn

torch.manual_seed(0)


class Deep(nn.Module):
    def __init__(self, depth=14, width=32):
        super().__init__()
        sizes = [8] + [width] * depth
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])])
        self.act = nn.Sigmoid()
        self.out = nn.Linear(width, 2)

    def forward(self, x):
        for layer in self.layers:
            x = self.act(layer(x))
        return self.out(x)


x = torch.randn(1500, 8)
y = (x[:, 0] + x[:, 1] > 0).long()
model = Deep()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(4):
    total = 0.0
    for idx in torch.randperm(len(x)).split(50):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / 30:.4f}")
