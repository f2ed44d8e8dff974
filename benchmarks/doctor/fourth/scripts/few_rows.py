import torch
import torch.nn as nn


def fold(x, y, held, epochs=60):
    mask = torch.ones(len(x), dtype=torch.bool)
    mask[held] = False
    mean, std = x[mask].mean(0), x[mask].std(0)
    xt, xv = (x[mask] - mean) / std, (x[held] - mean) / std
    model = nn.Sequential(nn.Linear(4, 12), nn.Tanh(), nn.Linear(12, 3))
    opt = torch.optim.AdamW(model.parameters(), lr=2e-2, weight_decay=1e-2)
    for _ in range(epochs):
        model.train()
        for idx in torch.randperm(len(xt)).split(16):
            loss = nn.functional.cross_entropy(model(xt[idx]), y[mask][idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    model.eval()
    with torch.no_grad():
        return (model(xv).argmax(1) == y[held]).float().mean().item()


torch.manual_seed(0)
y = torch.arange(60) % 3
x = 5 + torch.randn(3, 4)[y] * 2 + torch.randn(60, 4)
scores = []
for i, held in enumerate(torch.randperm(60).split(12)):
    scores.append(fold(x, y, held))
    print(f"fold {i}: {scores[-1]:.3f}")
print(f"mean {sum(scores) / 5:.3f}")
