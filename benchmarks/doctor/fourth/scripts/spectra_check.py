import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class Spectra(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool1d(4))
        self.fc = nn.Sequential(nn.Flatten(), nn.Linear(256, 64), nn.ReLU(), nn.Linear(64, 3))

    def forward(self, x):
        return self.fc(self.conv(x))


def spectra(n):
    y = torch.randint(0, 3, (n,))
    t = torch.arange(64)
    centre = torch.tensor([16.0, 32.0, 48.0])[y][:, None] + 4 * torch.randn(n, 1)
    x = torch.exp(-((t - centre) ** 2) / 30) + 0.4 * torch.randn(n, 64)
    return TensorDataset(x.unsqueeze(1), y)


def train_one_epoch(model, loader, optimizer):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()


def validate(model, loader):
    model.eval()
    outputs, targets = [], []
    for x, y in loader:
        outputs.append(model(x))
        targets.append(y)
    outputs, targets = torch.cat(outputs), torch.cat(targets)
    return nn.functional.cross_entropy(outputs, targets).item(), (outputs.argmax(1) == targets).float().mean().item()


torch.manual_seed(0)
train_loader = DataLoader(spectra(1500), batch_size=50, shuffle=True)
val_loader = DataLoader(spectra(1000), batch_size=50)
model = Spectra()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    train_one_epoch(model, train_loader, optimizer)
    loss, acc = validate(model, val_loader)
    print(f"epoch {epoch}: val loss {loss:.4f} acc {acc:.3f}")
