import torch
import torch.nn as nn


class PondNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Linear(24, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Dropout(0.5))
        self.head = nn.Linear(96, 6)

    def forward(self, x):
        return self.head(self.stem(x))


class Experiment:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
        self.loss = nn.CrossEntropyLoss()

    def fit(self, x, y):
        self.model.train()
        for idx in torch.randperm(len(x)).split(64):
            self.optimizer.zero_grad()
            self.loss(self.model(x[idx]), y[idx]).backward()
            self.optimizer.step()

    @torch.no_grad()
    def score(self, x, y):
        right = 0
        for xb, yb in zip(x.split(25), y.split(25)):
            right += (self.model(xb).argmax(1) == yb).sum().item()
        return right / len(x)


torch.manual_seed(3)
means = torch.randn(6, 24)
y = torch.randint(0, 6, (2000,))
x = means[y] + 2.0 * torch.randn(2000, 24)
run = Experiment(PondNet(), lr=2e-3)
for epoch in range(5):
    run.fit(x[:1500], y[:1500])
    print(f"epoch {epoch}: {run.score(x[1500:], y[1500:]):.3f}")
