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


def freeze(module):
    for p in module.parameters():
        p.requires_grad = False


def unfreeze(module):
    module.requires_grad = True


torch.manual_seed(0)
x = torch.randn(2000, 16)
y = (torch.tanh(x @ torch.randn(16, 10)) @ torch.randn(10, 4)).argmax(1)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
first = model.body[0].weight.detach().clone()
for epoch in range(7):
    if epoch == 0:
        print("stage one: head")
        freeze(model.body)
    if epoch == 2:
        print("stage two: everything")
        unfreeze(model.body)
    for idx in torch.randperm(len(x)).split(50):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
