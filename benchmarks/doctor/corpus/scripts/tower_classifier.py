import torch
import torch.nn as nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, inputs, width, depth, classes):
        super().__init__()
        sizes = [inputs] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.out = nn.Linear(width, classes)

    def forward(self, x):
        for layer in self.layers:
            x = torch.sigmoid(layer(x))
        return self.out(x)


torch.manual_seed(2)
y = torch.randint(0, 3, (360,))
x = torch.randn(3, 10)[y] + 0.7 * torch.randn(360, 10)
x_train, y_train, x_test, y_test = x[:300], y[:300], x[300:], y[300:]

model = Tower(10, 32, 30, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(6):
    for idx in torch.randperm(300).split(50):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean()
    print(f"epoch {epoch} loss {loss.item():.4f} accuracy {acc:.2f}")
