import torch
import torch.nn as nn
import torch.nn.functional as F


def paintings(n, centres):
    y = torch.randint(0, len(centres), (n,))
    return centres[y] + 0.7 * torch.randn(n, centres.shape[1]), y


def train_teacher(model, centres):
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for _ in range(200):
        x, y = paintings(48, centres)
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval().requires_grad_(False)


def distil(student, teacher, centres, T=4.0, alpha=0.7, steps=400):
    optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
    for step in range(steps):
        x, y = paintings(48, centres)
        with torch.no_grad():
            soft = F.softmax(teacher(x) / T, dim=-1)
        logits = student(x)
        kd = F.kl_div(F.log_softmax(logits / T, dim=-1), soft, reduction="batchmean") * T * T
        loss = alpha * kd + (1 - alpha) * F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step} kd {kd.item():.4f} loss {loss.item():.4f}")


torch.manual_seed(6)
centres = torch.randn(7, 12)
teacher = train_teacher(nn.Sequential(nn.Linear(12, 96), nn.ReLU(), nn.Linear(96, 7)), centres)
student = nn.Sequential(nn.Linear(12, 10), nn.ReLU(), nn.Linear(10, 7))
distil(student, teacher, centres)
x, y = paintings(400, centres)
with torch.no_grad():
    for name, net in [("teacher", teacher), ("student", student)]:
        print(name, (net(x).argmax(1) == y).float().mean().item())
