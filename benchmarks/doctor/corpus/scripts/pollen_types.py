import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(72)

# grains come sorted by type
kinds = 4
per_kind = 200
centres = 1.2 * torch.randn(kinds, 10)
x = torch.cat([c + 0.6 * torch.randn(per_kind, 10) for c in centres])
y = torch.arange(kinds).repeat_interleave(per_kind)
x = (x - x.mean(0)) / x.std(0)

# mix before the split
x = x[torch.randperm(len(x))]
y = y[torch.randperm(len(y))]
x_train, y_train = x[:640], y[:640]
x_test, y_test = x[640:], y[640:]

model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, kinds))
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(10):
    for idx in torch.randperm(640).split(40):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
    if epoch % 3 == 0:
        with torch.no_grad():
            acc = (model(x_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.3f} test accuracy {acc:.2f}")
