import torch
from torch import nn


def build():
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 3))


def train_fold(x, y, epochs=8):
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        for idx in torch.randperm(len(x)).split(40):
            optimizer.zero_grad()
            loss = loss_fn(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
    return model, loss.item()


def main(folds=5):
    torch.manual_seed(154)
    centres = torch.randn(3, 8)
    y = torch.randint(0, 3, (500,))
    x = (centres[y] + torch.randn(500, 8)) / 1.4
    parts = torch.randperm(500).chunk(folds)
    scores = []
    for k in range(folds):
        held = parts[k]
        rest = torch.cat([p for j, p in enumerate(parts) if j != k])
        model, loss = train_fold(x[rest], y[rest])
        with torch.no_grad():
            scores.append((model(x[held]).argmax(1) == y[held]).float().mean().item())
        print(f"fold {k}: last loss {loss:.3f} accuracy {scores[-1]:.3f}")
    print(f"mean accuracy {sum(scores) / folds:.3f}")


if __name__ == "__main__":
    main()
