"""Semi-supervised: 60 labelled rows, 900 unlabelled ones and an averaged teacher."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(44)


def samples(n):
    y = torch.randint(0, 4, (n,))
    t = torch.rand(n) * 2.2
    angle = y * 1.5708 + 0.6 * t
    x = torch.stack([t * angle.cos(), t * angle.sin()], 1) + 0.08 * torch.randn(n, 2)
    return x / 0.9, y


marked_x, marked_y = samples(60)
free_x, _ = samples(900)
test_x, test_y = samples(400)
student = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
teacher = copy.deepcopy(student)
for p in teacher.parameters():
    p.requires_grad = False
opt = torch.optim.Adam(student.parameters(), lr=3e-3)
step = 0
for epoch in range(15):
    student.train()
    for idx in torch.randperm(900).split(60):
        x, y = marked_x, marked_y
        u = free_x[idx]
        with torch.no_grad():
            goal = teacher(u + 0.05 * torch.randn_like(u)).softmax(1)
        guess = student(u + 0.05 * torch.randn_like(u)).softmax(1)
        weight = min(1.0, step / 100)
        pick = torch.randperm(60)[:30]
        loss = F.cross_entropy(student(x[pick]), y[pick]) + weight * (guess - goal).pow(2).sum(1).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        step += 1
        with torch.no_grad():
            decay = min(0.98, 1 - 1 / (step + 1))
            for slow, fast in zip(teacher.parameters(), student.parameters()):
                slow.lerp_(fast, 1 - decay)
    if epoch % 3 == 2:
        student.eval()
        teacher.eval()
        with torch.no_grad():
            a, b = ((m(test_x).argmax(1) == test_y).float().mean() for m in (student, teacher))
        print(f"epoch {epoch}: loss {loss.item():.3f} student {a:.3f} teacher {b:.3f}")
