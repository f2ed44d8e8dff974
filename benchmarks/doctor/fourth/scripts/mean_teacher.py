import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


def update_teacher(teacher, student, decay):
    with torch.no_grad():
        for t, s in zip(teacher.parameters(), student.parameters()):
            t = t * decay + s * (1 - decay)


def noisy(x):
    return x + 0.2 * torch.randn_like(x)


torch.manual_seed(0)
centres = 1.8 * torch.randn(5, 12)
y_all = torch.randint(0, 5, (2500,))
x_all = centres[y_all] + torch.randn(2500, 12)
labelled = 250

student = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 5))
teacher = copy.deepcopy(student)
teacher.requires_grad_(False)
begin = teacher[0].weight.clone()
optimizer = torch.optim.Adam(student.parameters(), lr=2e-3)
for epoch in range(8):
    for idx in torch.randperm(2500).split(100):
        known = torch.randint(0, labelled, (50,))
        supervised = F.cross_entropy(student(noisy(x_all[known])), y_all[known])
        with torch.no_grad():
            goal = teacher(noisy(x_all[idx])).softmax(1)
        consistency = F.mse_loss(student(noisy(x_all[idx])).softmax(1), goal)
        loss = supervised + 3 * min(1.0, epoch / 4) * consistency
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        update_teacher(teacher, student, 0.99)
    with torch.no_grad():
        acc = (teacher(x_all[labelled:]).argmax(1) == y_all[labelled:]).float().mean()
    print(f"epoch {epoch}: teacher accuracy {acc:.3f}")
