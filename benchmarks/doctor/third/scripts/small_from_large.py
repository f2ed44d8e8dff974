"""Distil a larger network into a small one."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(61)
centres = torch.randn(6, 20)


def batch(n=64):
    y = torch.randint(0, 6, (n,))
    return centres[y] + torch.randn(n, 20), y


teacher = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 6))
opt_t = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for _ in range(80):
    x, y = batch()
    opt_t.zero_grad()
    F.cross_entropy(teacher(x), y).backward()
    opt_t.step()
teacher.eval()

student = nn.Sequential(nn.Linear(20, 12), nn.ReLU(), nn.Linear(12, 6))
optimizer = torch.optim.Adam(student.parameters(), lr=3e-3)
T, alpha = 3.0, 0.7
for step in range(120):
    x, y = batch()
    with torch.no_grad():
        t_logits = teacher(x)
    s_logits = student(x)
    soft = F.kl_div(F.softmax(s_logits / T, dim=1), F.softmax(t_logits / T, dim=1),
                    reduction="batchmean") * T * T
    hard = F.cross_entropy(s_logits, y)
    loss = alpha * soft + (1 - alpha) * hard
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, f"soft {soft.item():.4f} hard {hard.item():.4f}")
