import torch
import torch.nn as nn

torch.manual_seed(30)


def load():
    x = torch.randn(900, 14)
    y = (x[:, 0] * x[:, 1] + 0.6 * torch.randn(900) > 1.3).long()
    return x, y


def balance(x, y):
    minority = (y == 1).nonzero().squeeze(1)
    extra = minority[torch.randint(0, len(minority), ((y == 0).sum() - len(minority),))]
    return torch.cat([x, x[extra]]), torch.cat([y, y[extra]])


def split(x, y, share=0.25):
    order = torch.randperm(len(x))
    cut = int(len(x) * share)
    held, rest = order[:cut], order[cut:]
    return x[rest], y[rest], x[held], y[held]


x, y = load()
x, y = balance(x, y)
xt, yt, xv, yv = split(x, y)
model = nn.Sequential(nn.Linear(14, 128), nn.ReLU(), nn.Linear(128, 2))
opt = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(12):
    model.train()
    for idx in torch.randperm(len(xt)).split(32):
        loss = nn.functional.cross_entropy(model(xt[idx]), yt[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        acc = (model(xv).argmax(1) == yv).float().mean()
    print(f"epoch {epoch} validation accuracy {acc:.3f}")
