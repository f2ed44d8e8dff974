import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(164)
stack = nn.ModuleList([nn.Linear(10, 48), nn.Linear(48, 48), nn.Linear(48, 3)])


def forward(x):
    for layer in stack[:-1]:
        x = F.relu(layer(x))
    return stack[-1](x)


def data(n, twist):
    x = torch.randn(n, 10)
    score = torch.stack([x[:, 0] + twist * x[:, 1], x[:, 2] * x[:, 3], x[:, 4].abs() - 0.6], 1)
    return x, score.argmax(1)


def steps(optimizer, count, twist):
    for _ in range(count):
        x, y = data(96, twist)
        optimizer.zero_grad()
        loss = F.cross_entropy(forward(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


print("pretraining", round(steps(torch.optim.Adam(stack.parameters(), lr=3e-3), 200, 0.0), 3))

for layer in stack[:-1]:
    layer.requires_grad_(False)
optimizer = torch.optim.Adam(stack[-1].parameters(), lr=3e-3)
print("head only", round(steps(optimizer, 60, 1.0), 3))
for depth, layer in reversed(list(enumerate(stack[:-1]))):
    layer.requires_grad_(True)
    optimizer.add_param_group({"params": layer.parameters(), "lr": 2e-3})
    print("layer", depth, "too", round(steps(optimizer, 100, 1.0), 3))
x, y = data(500, 1.0)
with torch.no_grad():
    print("accuracy", (forward(x).argmax(1) == y).float().mean().item())
