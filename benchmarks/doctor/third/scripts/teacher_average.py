"""Mean teacher: a student follows labels and its own moving average."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(52)
centres = 1.5 * torch.randn(4, 12)


def labelled(n=16):
    y = torch.randint(0, 4, (n,))
    return centres[y] + torch.randn(n, 12), y


student = nn.Sequential(nn.Linear(12, 48), nn.BatchNorm1d(48), nn.ReLU(), nn.Linear(48, 4))
teacher = copy.deepcopy(student).requires_grad_(False).eval()
optimizer = torch.optim.Adam(student.parameters(), lr=2e-3)


@torch.no_grad()
def update_teacher(step):
    decay = min(0.99, (1 + step) / (10 + step))
    for t, s in zip(teacher.parameters(), student.parameters()):
        t.lerp_(s, 1 - decay)
    for t, s in zip(teacher.buffers(), student.buffers()):
        t.copy_(s)


for step in range(150):
    x, y = labelled()
    u, _ = labelled(64)
    with torch.no_grad():
        goal = F.softmax(teacher(u), dim=1)
    both = student(torch.cat([x, u + 0.2 * torch.randn_like(u)]))
    supervised = F.cross_entropy(both[:16], y)
    agree = F.mse_loss(F.softmax(both[16:], dim=1), goal)
    loss = supervised + 2.0 * agree
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    update_teacher(step)
    if step % 50 == 49:
        x, y = labelled(400)
        print(step, (teacher(x).argmax(1) == y).float().mean().item())
