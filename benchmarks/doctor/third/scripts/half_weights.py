"""Train in pure half precision to save memory."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(262)
centres = torch.randn(5, 20)


def batch(n=64):
    y = torch.randint(0, 5, (n,))
    return (centres[y] + torch.randn(n, 20)).half(), y


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(20, 64)
        self.fc2 = nn.Linear(64, 64)
        self.fc3 = nn.Linear(64, 5)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


model = Net().half()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(60):
    x, y = batch()
    loss = F.cross_entropy(model(x).float(), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print(step, loss.item())
