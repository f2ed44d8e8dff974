import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(53)


class GestureNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = nn.Linear(18, 40)
        self.l2 = nn.Linear(40, 40)
        self.l3 = nn.Linear(40, 5)

    def forward(self, x):
        x = torch.tanh(self.l1(x))
        x = torch.tanh(self.l2(x))
        return self.l3(x)


means = torch.randn(5, 18)


def recordings(n):
    y = torch.randint(0, 5, (n,))
    return (means[y] + 1.2 * torch.randn(n, 18)) / 1.5, y


x, y = recordings(500)
x_test, y_test = recordings(200)
model = GestureNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(8):
    shuffled = torch.randperm(500)
    for k in range(0, 500, 50):
        idx = shuffled[k : k + 50]
        optimizer.zero_grad()
        out = model(x[idx])
        loss = F.nll_loss(out, y[idx])
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())

with torch.no_grad():
    print("accuracy", (model(x_test).argmax(1) == y_test).float().mean().item())
