"""Grade linen, with Monte Carlo dropout for the uncertainty."""
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(273)
centres = torch.randn(6, 15)
y = torch.randint(0, 6, (900,))
x = centres[y] + 0.9 * torch.randn(900, 15)
loader = DataLoader(TensorDataset(x[:750], y[:750]), batch_size=30, shuffle=True)
model = nn.Sequential(
    nn.Dropout(0.05), nn.Linear(15, 64), nn.ReLU(), nn.Dropout(p=0.0),
    nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 6),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)


def mc_predict(x, passes=10):
    model.eval()
    for m in model.modules():
        if isinstance(m, nn.Dropout):
            m.train()
    with torch.no_grad():
        probs = torch.stack([model(x).softmax(1) for _ in range(passes)])
    return probs.mean(0), probs.std(0).mean().item()


for epoch in range(5):
    model.train()
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
    mean, spread = mc_predict(x[750:])
    acc = (mean.argmax(1) == y[750:]).float().mean().item()
    print(f"epoch {epoch} loss {loss.item():.4f} acc {acc:.3f} spread {spread:.3f}")
