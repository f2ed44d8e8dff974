import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(6)
T = 3.0


def mlp(width):
    return nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, 8))


x = torch.randn(3000, 16)
y = (x @ torch.randn(16, 8)).argmax(1)

teacher = mlp(128)
opt = torch.optim.Adam(teacher.parameters(), lr=3e-3)
for epoch in range(3):
    for idx in torch.randperm(len(x)).split(50):
        opt.zero_grad()
        F.cross_entropy(teacher(x[idx]), y[idx]).backward()
        opt.step()
teacher.eval()

student = mlp(16)
opt = torch.optim.Adam(student.parameters(), lr=3e-3)
for epoch in range(4):
    for idx in torch.randperm(len(x)).split(50):
        with torch.no_grad():
            soft = F.softmax(teacher(x[idx]) / T, dim=1)
        logits = student(x[idx])
        guess = F.softmax(logits / T, dim=1)
        distill = F.kl_div(guess, soft, reduction="batchmean") * T * T
        loss = 0.5 * distill + 0.5 * F.cross_entropy(logits, y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        agree = (student(x).argmax(1) == teacher(x).argmax(1)).float().mean()
    print(f"epoch {epoch} loss {loss.item():.4f} agreement {agree:.3f}")
