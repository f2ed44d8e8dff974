import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(15)
WIDTH, DEPTH = 32, 20

x = torch.randn(480, 8)
y = (x.sum(1) > 0).long()
train = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=40, shuffle=True)

blocks = [nn.Linear(8, WIDTH), nn.ReLU()]
for _ in range(DEPTH - 2):
    blocks += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
blocks += [nn.Linear(WIDTH, 2)]
model = nn.Sequential(*blocks)

for m in model.modules():
    if isinstance(m, nn.Linear):
        nn.init.normal_(m.weight, std=0.5)
        nn.init.zeros_(m.bias)

optimizer = optim.SGD(model.parameters(), lr=0.05)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    total = 0.0
    for xb, yb in train:
        optimizer.zero_grad()
        loss = criterion(model(xb), yb)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / len(train):.3f}")
with torch.no_grad():
    print("accuracy", (model(x[400:]).argmax(1) == y[400:]).float().mean().item())
