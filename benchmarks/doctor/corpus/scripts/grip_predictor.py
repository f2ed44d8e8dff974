import torch
import torch.nn as nn
import torch.nn.functional as F


class GraspNet(nn.Module):
    def __init__(self, inputs=16, hidden=96):
        super().__init__()
        self.fc1 = nn.Linear(inputs, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.fc3 = nn.Linear(hidden, 2)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.dropout(x, p=0.3)
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def grasps(n):
    x = torch.randn(n, 16)
    stable = x[:, :5].sum(1) + x[:, 5] * x[:, 6] > 0
    return x, stable.long()


def train_epoch(model, data, optimizer):
    model.train()
    x, y = data
    for idx in torch.randperm(len(x)).split(50):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
    return loss.item()


def test(model, data):
    model.eval()
    x, y = data
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(81)
train_data, test_data = grasps(700), grasps(300)
model = GraspNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    loss = train_epoch(model, train_data, optimizer)
    print(f"epoch {epoch}: loss {loss:.3f}, test accuracy {test(model, test_data):.3f}")
