"""Classifier whose loss also counts its mistakes."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(152)
centres = torch.randn(7, 12)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 40), nn.ReLU(), nn.Linear(40, 7))

    def forward(self, x):
        return self.layers(x)


def compute_loss(logits, y, weight=0.5):
    ce = F.cross_entropy(logits, y)
    mistakes = (logits.argmax(dim=1) != y).float().mean()
    return ce + weight * mistakes, ce, mistakes


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(150):
    y = torch.randint(0, 7, (48,))
    x = centres[y] + 0.8 * torch.randn(48, 12)
    loss, ce, mistakes = compute_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"{step} total {loss.item():.3f} ce {ce.item():.3f} mistakes {mistakes.item():.3f}")
