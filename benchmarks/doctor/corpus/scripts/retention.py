import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(76)
X = torch.randn(900, 15)
y = (X[:, 0] - X[:, 1] * X[:, 2] + 0.3 * torch.randn(900) > 0).float().unsqueeze(1)
train_loader = DataLoader(TensorDataset(X[:700], y[:700]), batch_size=50, shuffle=True)
val_loader = DataLoader(TensorDataset(X[700:], y[700:]), batch_size=100)

model = nn.Sequential(
    nn.Linear(15, 64), nn.ReLU(), nn.Dropout(0.4), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.4), nn.Linear(64, 1)
)
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)

for epoch in range(8):
    train_loss = 0.0
    for xb, yb in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
        train_loss += loss.item() / len(train_loader)

    with torch.no_grad():
        val_loss, hits = 0.0, 0
        for xb, yb in val_loader:
            out = model(xb)
            val_loss += criterion(out, yb).item() / len(val_loader)
            hits += ((out > 0).float() == yb).sum().item()
    print(f"epoch {epoch}: train {train_loss:.3f} val {val_loss:.3f} acc {hits / 200:.3f}")
