import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GenreModel(nn.Module):
    def __init__(self, features=30, genres=6):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(features, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, genres))

    def forward(self, x):
        return self.layers(x)


def movies(n):
    loadings = torch.randn(6, 30, generator=torch.Generator().manual_seed(2))
    genres = (torch.rand(n, 6) < 0.25).float()
    return (genres @ loadings + 0.7 * torch.randn(n, 30)) / 1.4, genres


def f1(pred, true):
    tp = (pred * true).sum()
    return (2 * tp / (pred.sum() + true.sum() + 1e-9)).item()


torch.manual_seed(181)
x, y = movies(640)
x_val, y_val = movies(200)
loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
model = GenreModel()
criterion = nn.BCEWithLogitsLoss(pos_weight=torch.full((6,), 2.0))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.inference_mode():
        score = f1((model(x_val) > 0).float(), y_val)
    print(f"epoch {epoch} loss {loss.item():.3f} F1 {score:.3f}")
