import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(16)
digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32) / 16
y = torch.tensor(digits.target)
loader = DataLoader(TensorDataset(x[:1408], y[:1408]), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.4, momentum=0.8)
GROUP = 5

for epoch in range(8):
    whole = len(loader) - len(loader) % GROUP
    for i, (xb, yb) in enumerate(loader):
        share = GROUP if i < whole else len(loader) - whole
        loss = nn.functional.cross_entropy(model(xb), yb) / share
        loss.backward()
        if (i + 1) % GROUP == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()
    with torch.no_grad():
        out = model(x[1408:])
        val = nn.functional.cross_entropy(out, y[1408:]).item()
        acc = (out.argmax(1) == y[1408:]).float().mean().item()
    print(f"epoch {epoch}: val loss {val:.3f} acc {acc:.3f}")
