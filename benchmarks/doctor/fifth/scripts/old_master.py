import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits

torch.manual_seed(46)


def mlp(width):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))


def train_teacher(x, y):
    teacher = mlp(128)
    opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
    for _ in range(5):
        for idx in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(teacher(x[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
    return teacher.eval().requires_grad_(False)


def distill(student_logits, teacher_logits, t=3.0):
    teacher = F.log_softmax(teacher_logits / t, dim=1)
    student = F.softmax(student_logits / t, dim=1)
    return F.kl_div(teacher, student, reduction="batchmean") * t * t


digits = load_digits()
x, y = torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target)
x_train, y_train, x_test, y_test = x[:1400], y[:1400], x[1400:], y[1400:]
teacher = train_teacher(x_train, y_train)
student = mlp(12)
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
for epoch in range(6):
    student.train()
    for idx in torch.randperm(len(x_train)).split(50):
        with torch.no_grad():
            goal = teacher(x_train[idx])
        loss = distill(student(x_train[idx]), goal)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    student.eval()
    with torch.no_grad():
        acc = (student(x_test).argmax(1) == y_test).float().mean().item()
    print(f"epoch {epoch}: kl {loss.item():.4f} student accuracy {acc:.3f}")
