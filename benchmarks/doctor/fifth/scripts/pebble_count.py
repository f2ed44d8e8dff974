import torch
from sklearn.datasets import load_digits
from torch import nn, optim

MAX_NORM = 1e-4


def load():
    d = load_digits()
    x = torch.tensor(d.data, dtype=torch.float32) / 16
    y = torch.tensor(d.target)
    return (x[:1400], y[:1400]), (x[1400:], y[1400:])


def make_model():
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def step(model, optimizer, x, y):
    loss = nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(3)
    (x, y), (xt, yt) = load()
    model = make_model()
    optimizer = optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(6):
        model.train()
        losses = [step(model, optimizer, x[i], y[i]) for i in torch.randperm(len(x)).split(50)]
        model.eval()
        with torch.no_grad():
            acc = (model(xt).argmax(1) == yt).float().mean().item()
        print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f} acc {acc:.3f}")


if __name__ == "__main__":
    main()
