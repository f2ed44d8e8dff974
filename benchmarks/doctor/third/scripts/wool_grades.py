"""Grade wool samples."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class WoolNet(nn.Module):
    def __init__(self, inputs=15, classes=6):
        super().__init__()
        self.fc1 = nn.Linear(inputs, 64)
        self.fc2 = nn.Linear(64, classes)
        self.act = nn.ReLU()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        x = self.act(self.fc1(x))
        x = self.drop(self.fc2(x))
        return x


torch.manual_seed(271)
centres = torch.randn(6, 15)
y = torch.randint(0, 6, (900,))
x = centres[y] + 0.9 * torch.randn(900, 15)
loader = DataLoader(TensorDataset(x[:750], y[:750]), batch_size=30, shuffle=True)
model = WoolNet()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    model.train()
    running = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(x[750:]).argmax(1) == y[750:]).float().mean().item()
    print(f"epoch {epoch} loss {running / len(loader):.4f} acc {acc:.3f}")
