import torch
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(55)
wine = load_wine()
x_tr, x_te, y_tr, y_te = train_test_split(
    wine.data, wine.target, test_size=0.3, stratify=wine.target, random_state=2
)
x_tr, x_te = torch.tensor(x_tr, dtype=torch.float32), torch.tensor(x_te, dtype=torch.float32)
y_tr, y_te = torch.tensor(y_tr), torch.tensor(y_te)
loader = DataLoader(TensorDataset(x_tr, y_tr), batch_size=20, shuffle=True, drop_last=True)

model = nn.Sequential(
    nn.BatchNorm1d(13, affine=False, momentum=0.05),
    nn.Linear(13, 24),
    nn.ReLU(),
    nn.Linear(24, 3),
)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(30):
    model.train()
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    if epoch % 6 == 5:
        model.eval()
        with torch.no_grad():
            acc = (model(x_te).argmax(1) == y_te).float().mean().item()
        print(f"epoch {epoch + 1}: loss {loss.item():.4f} acc {acc:.3f}")
