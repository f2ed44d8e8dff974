import torch
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(0)
raw = load_diabetes()
x = torch.tensor(raw.data * 20, dtype=torch.float32)
y = torch.tensor((raw.target - 152.0) / 77.0, dtype=torch.float32).unsqueeze(1)
train_set, valid_set = random_split(TensorDataset(x, y), [350, 92])
train_loader = DataLoader(train_set, batch_size=10, shuffle=True)
valid_loader = DataLoader(valid_set, batch_size=46)


class Yield(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Sequential(nn.Linear(10, 128), nn.SiLU(), nn.Dropout(0.2), nn.Linear(128, 1))

    def forward(self, x):
        return self.inner(x)


def train(model, loader, optimizer, criterion):
    model.train()
    epoch_loss = 0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        epoch_loss += loss
    return epoch_loss / len(loader)


def validate(model, loader, criterion):
    model.eval()
    with torch.no_grad():
        return sum(criterion(model(xb), yb).item() for xb, yb in loader) / len(loader)


model = Yield()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()
history = []
for epoch in range(10):
    train_loss = train(model, train_loader, optimizer, criterion)
    history.append(train_loss)
    print(f"epoch {epoch:02d} train {train_loss:.4f} valid {validate(model, valid_loader, criterion):.4f}")
print("best train loss", float(min(history)))
