import torch
import torch.nn.functional as F
from torch import nn


def make(width):
    return nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 6))


def data(n):
    protos = torch.randn(6, 16, generator=torch.Generator().manual_seed(4))
    y = torch.randint(0, 6, (n,))
    return (protos[y] + 1.2 * torch.randn(n, 16)) / 1.5, y


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def train_teacher(model, steps=120):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    model.train()
    for _ in range(steps):
        x, y = data(64)
        opt.zero_grad()
        F.cross_entropy(model(x), y).backward()
        opt.step()
    return model.eval()


def distil(teacher, student, steps=150, T=3.0, alpha=0.7):
    opt = torch.optim.Adam(student.parameters(), lr=5e-3)
    student.train()
    for step in range(steps):
        x, y = data(64)
        with torch.no_grad():
            soft = F.softmax(teacher(x) / T, dim=1)
        logits = student(x)
        kd = F.kl_div(F.log_softmax(logits / T, dim=1), soft, reduction="batchmean") * T * T
        loss = alpha * kd + (1 - alpha) * F.cross_entropy(logits, y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 30 == 0:
            print(f"step {step:3d} loss {loss.item():.3f}")


torch.manual_seed(119)
test = data(400)
teacher = train_teacher(make(96))
print("teacher", accuracy(teacher, *test))
student = make(12)
distil(teacher, student)
print("student", accuracy(student, *test))
