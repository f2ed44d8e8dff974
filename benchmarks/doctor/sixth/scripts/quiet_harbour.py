import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(5)

# tide, wind, draught ... -> can the ship enter
N = 257
x = torch.randn(N, 7)
y = ((x[:, 0] - x[:, 2] + 0.5 * x[:, 3] ** 2) > 0.3).long()
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)


class HarbourNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(7, 24),
            nn.BatchNorm1d(24),
            nn.ReLU(),
            nn.Linear(24, 2),
        )

    def forward(self, x):
        return self.net(x)


model = HarbourNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(10):
    for inputs, labels in loader:
        outputs = model(inputs)
        loss = criterion(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print("epoch", epoch, "loss", loss.item())
