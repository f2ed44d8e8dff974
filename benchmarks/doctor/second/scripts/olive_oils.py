import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(2137)


def oils(n, regions=4):
    centre = 0.8 * torch.randn(regions, 8)
    region = torch.randint(0, regions, (n,))
    x = centre[region] + torch.randn(n, 8)
    return TensorDataset(x / 1.28, region)


class OilNet(nn.Module):
    def __init__(self, hidden=64):
        super().__init__()
        self.fc1 = nn.Linear(8, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.drop = nn.Dropout(0.2)
        self.fc3 = nn.Linear(hidden, 4)

    def forward(self, x):
        x = torch.relu(self.fc1(x))
        x = self.drop(torch.relu(self.fc2(x)))
        return self.fc3(x)


dataset = oils(700)
train_set, test_set = random_split(dataset, [560, 140])
train_loader = DataLoader(dataset, batch_size=35, shuffle=True)
test_loader = DataLoader(test_set, batch_size=70)

model = OilNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    model.train()
    total = 0.0
    for x, region in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), region)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(train_loader):.4f}")

model.eval()
right = 0
with torch.no_grad():
    for x, region in test_loader:
        right += (model(x).argmax(1) == region).sum().item()
print("test accuracy", right / len(test_set))
