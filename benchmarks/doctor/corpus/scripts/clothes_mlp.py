import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(60)
templates = torch.randn(6, 36)


def garments(n):
    kind = torch.randint(0, 6, (n,))
    return (templates[kind] + 1.5 * torch.randn(n, 36)) / 1.8, kind


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(36, 64)
        self.fc2 = nn.Linear(64, 32)
        self.fc3 = nn.Linear(32, 6)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


train_x, train_y = garments(600)
test_x, test_y = garments(200)
net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=0.8)
for epoch in range(6):
    losses = []
    for idx in torch.randperm(600).split(30):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(train_x[idx]), train_y[idx])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    with torch.no_grad():
        acc = (net(test_x).argmax(1) == test_y).float().mean().item()
    print("epoch %d  loss %.3f  test acc %.3f" % (epoch, sum(losses) / len(losses), acc))
