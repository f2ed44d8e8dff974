import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn


def attack(model, x, y, eps):
    x = x.clone().requires_grad_(True)
    loss = F.cross_entropy(model(x), y)
    (grad,) = torch.autograd.grad(loss, x)
    return (x + eps * grad.sign()).clamp(0, 1).detach()


def evaluate(model, x, y, eps):
    model.eval()
    hostile = attack(model, x, y, eps)
    with torch.no_grad():
        clean = (model(x).argmax(1) == y).float().mean().item()
        hard = (model(hostile).argmax(1) == y).float().mean().item()
    model.train()
    return clean, hard


def main(eps=0.1):
    torch.manual_seed(46)
    d = load_digits()
    x, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(6):
        for idx in torch.randperm(1400).split(50):
            hostile = attack(model, x[idx], y[idx], eps)
            loss = 0.5 * (F.cross_entropy(model(x[idx]), y[idx]) + F.cross_entropy(model(hostile), y[idx]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        clean, hard = evaluate(model, x[1400:], y[1400:], eps)
        print(f"epoch {epoch}: loss {loss.item():.3f} clean {clean:.3f} attacked {hard:.3f}")


if __name__ == "__main__":
    main()
