import torch
from sklearn.datasets import make_friedman1
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(6)


class RiverData(Dataset):
    def __init__(self, n, seed):
        x, y = make_friedman1(n_samples=n, n_features=8, noise=0.3, random_state=seed)
        self.x = torch.tensor(x, dtype=torch.float32)
        self.y = torch.tensor((y - 14.4) / 4.9, dtype=torch.float32)

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return self.x[i], self.y[i]


def build_model():
    return nn.Sequential(
        nn.Linear(8, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, 1),
    )


def run_epoch(model, loader, optimizer=None):
    total, count = 0.0, 0
    for x, y in loader:
        pred = model(x)
        loss = nn.functional.mse_loss(pred, y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        total += loss.item() * len(x)
        count += len(x)
    return total / count


train_loader = DataLoader(RiverData(1200, seed=0), batch_size=32, shuffle=True)
valid_loader = DataLoader(RiverData(320, seed=1), batch_size=32)
model = build_model()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    model.train()
    train_loss = run_epoch(model, train_loader, optimizer)
    model.eval()
    with torch.no_grad():
        valid_loss = run_epoch(model, valid_loader)
    print(f"epoch {epoch}: train {train_loss:.3f} valid {valid_loss:.3f}")
