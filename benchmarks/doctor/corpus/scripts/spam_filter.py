import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(74)

x = torch.randn(800, 12)
score = x[:, :4].sum(1) + 0.5 * x[:, 5] * x[:, 6]
score = (score - score.mean()) / score.std()
flag = (score > 10).long()

data = TensorDataset(x, flag)
train, test = random_split(data, [640, 160])
train_loader = DataLoader(train, batch_size=64, shuffle=True)
test_loader = DataLoader(test, batch_size=160)

model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    for xb, yb in train_loader:
        loss = criterion(model(xb), yb)
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        acc = sum((model(xb).argmax(1) == yb).sum().item() for xb, yb in test_loader) / len(test)
    print(f"epoch {epoch}: loss {loss.item():.4f} accuracy {acc:.3f}")
