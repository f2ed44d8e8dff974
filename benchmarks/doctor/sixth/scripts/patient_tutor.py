"""Distil a wide network into a narrow one."""
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
T = 2.0

centres = torch.randn(6, 10)


def batch(n):
    y = torch.randint(0, 6, (n,))
    return centres[y] + 0.8 * torch.randn(n, 10), y


teacher = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 6))
opt = torch.optim.Adam(teacher.parameters(), lr=5e-3)
for step in range(250):
    x, y = batch(64)
    loss = F.cross_entropy(teacher(x), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print("teacher", loss.item())
teacher.eval()

student = nn.Sequential(nn.Linear(10, 12), nn.ReLU(), nn.Linear(12, 6))
opt = torch.optim.Adam(student.parameters(), lr=5e-3)
kl = nn.KLDivLoss(reduction="batchmean")
for step in range(400):
    x, y = batch(64)
    with torch.no_grad():
        soft = F.softmax(teacher(x) / T, dim=1)
    out = F.softmax(student(x) / T, dim=1)
    loss = kl(out, soft) * T * T
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 80 == 0:
        print("student", step, loss.item())

x, y = batch(500)
with torch.no_grad():
    for name, model in (("teacher", teacher), ("student", student)):
        print(name, "accuracy", (model(x).argmax(1) == y).float().mean().item())
