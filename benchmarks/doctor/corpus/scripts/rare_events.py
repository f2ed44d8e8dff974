import torch
from torch import nn
from torch.nn import functional as F


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(14, 64)
        self.relu = nn.ReLU()
        self.top = nn.Linear(64, 2)
        nn.init.constant_(self.hidden.bias, -8.0)

    def forward(self, x):
        return self.top(self.relu(self.hidden(x)))


torch.manual_seed(36)
x = torch.randn(700, 14)
y = (x[:, :4].pow(2).sum(1) > 3.36).long()
x_train, y_train, x_test, y_test = x[:560], y[:560], x[560:], y[560:]
model = Detector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for epoch in range(12):
    perm = torch.randperm(560)
    for i in range(0, 560, 56):
        pick = perm[i : i + 56]
        loss = F.cross_entropy(model(x_train[pick]), y_train[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        print(f"epoch {epoch}: loss {loss.item():.3f}")
with torch.no_grad():
    print("test accuracy", (model(x_test).argmax(1) == y_test).float().mean().item())
