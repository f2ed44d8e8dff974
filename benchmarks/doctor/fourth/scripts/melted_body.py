import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 24), nn.ReLU())
        self.head = nn.Linear(24, 4)

    def forward(self, x):
        return self.head(self.body(x))


def stage(model, x, y, groups, epochs):
    opt = torch.optim.Adam(groups, lr=3e-3)
    for epoch in range(epochs):
        for idx in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(model(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch}: {loss.item():.4f}")


torch.manual_seed(0)
x = torch.randn(2000, 16)
y = (torch.tanh(x @ torch.randn(16, 10)) @ torch.randn(10, 4)).argmax(1)
model = Model()
model.body.requires_grad_(False)
stage(model, x, y, [{"params": model.head.parameters()}], epochs=2)
model.body.requires_grad_(True)
stage(model, x, y, [{"params": model.body.parameters(), "lr": 1e-3}, {"params": model.head.parameters()}], epochs=4)
