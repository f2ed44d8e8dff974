import torch
import torch.nn as nn
import torch.nn.functional as F


def cnn(channels):
    return nn.Sequential(
        nn.Conv2d(1, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(channels * 16, 5),
    )


def sample(n):
    y = torch.randint(0, 5, (n,))
    stencils = torch.randn(5, 1, 8, 8, generator=torch.Generator().manual_seed(3))
    return stencils[y] + 1.2 * torch.randn(n, 1, 8, 8), y


def distil(student, teacher, x, temperature):
    with torch.no_grad():
        goal = (teacher(x) / temperature).softmax(-1)
    guess = (student(x) / temperature).log_softmax(-1)
    return F.kl_div(guess, goal, reduction="batchmean") * temperature**2


torch.manual_seed(3)
x, y = sample(1500)
xv, yv = sample(400)
teacher, student = cnn(32), cnn(4)
opt = torch.optim.Adam(teacher.parameters(), lr=2e-3)
teacher.train()
for _ in range(3):
    for idx in torch.randperm(len(x)).split(50):
        opt.zero_grad()
        F.cross_entropy(teacher(x[idx]), y[idx]).backward()
        opt.step()
teacher.eval().requires_grad_(False)

opt = torch.optim.Adam(student.parameters(), lr=3e-3)
for epoch in range(5):
    student.train()
    for idx in torch.randperm(len(x)).split(50):
        loss = distil(student, teacher, x[idx], 2.0)
        opt.zero_grad()
        loss.backward()
        opt.step()
    student.eval()
    with torch.no_grad():
        print(epoch, f"{(student(xv).argmax(1) == yv).float().mean():.3f}")
