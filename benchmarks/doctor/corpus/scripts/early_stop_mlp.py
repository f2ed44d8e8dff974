"""Train with early stopping on a validation set."""
import copy

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, d=20, h=64, p=0.5):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(d, h), nn.LayerNorm(h), nn.ReLU(), nn.Dropout(p), nn.Linear(h, 3))

    def forward(self, x):
        return self.layers(x)


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad, self.state = patience, float("inf"), 0, None

    def update(self, value, model):
        if value < self.best:
            self.best, self.bad, self.state = value, 0, copy.deepcopy(model.state_dict())
        else:
            self.bad += 1
        return self.bad >= self.patience


class Trainer:
    def __init__(self, model, train, val):
        self.model, self.train_data, self.val_data = model, train, val
        self.opt = torch.optim.Adam(model.parameters(), lr=3e-3)
        self.ce = nn.CrossEntropyLoss()

    def train_epoch(self):
        self.model.train()
        x, y = self.train_data
        for i in torch.randperm(len(x)).split(32):
            self.opt.zero_grad()
            self.ce(self.model(x[i]), y[i]).backward()
            self.opt.step()

    @torch.no_grad()
    def validate(self):
        self.model.train()
        x, y = self.val_data
        return self.ce(self.model(x), y).item()

    def fit(self, epochs=15):
        stopper = EarlyStopping(patience=3)
        for epoch in range(epochs):
            self.train_epoch()
            value = self.validate()
            print(f"epoch {epoch} validation {value:.4f}")
            if stopper.update(value, self.model):
                break
        self.model.load_state_dict(stopper.state)


torch.manual_seed(78)
protos = torch.randn(3, 20)
y = torch.randint(0, 3, (480,))
x = (0.5 * protos[y] + torch.randn(480, 20)) / 1.1
trainer = Trainer(Model(), (x[:320], y[:320]), (x[320:], y[320:]))
trainer.fit()
