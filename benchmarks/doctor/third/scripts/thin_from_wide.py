"""Knowledge distillation with KLDivLoss."""
import torch
import torch.nn as nn

torch.manual_seed(62)
centres = torch.randn(5, 16)


def batch(n=64):
    y = torch.randint(0, 5, (n,))
    return centres[y] + 0.9 * torch.randn(n, 16), y


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, width), nn.ReLU(), nn.Linear(width, 5))

    def forward(self, x):
        return self.layers(x)


def fit(net, steps=80):
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    for _ in range(steps):
        x, y = batch()
        loss = nn.functional.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return net.eval()


teacher = fit(Net(128))
student = Net(8)
kl = nn.KLDivLoss(reduction="batchmean")
optimizer = torch.optim.Adam(student.parameters(), lr=5e-3)
for step in range(100):
    x, y = batch()
    with torch.no_grad():
        teacher_out = teacher(x)
    student_out = student(x)
    distill = kl(torch.log_softmax(teacher_out, -1), torch.softmax(student_out, -1))
    loss = distill + 0.1 * nn.functional.cross_entropy(student_out, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(step, round(distill.item(), 4))
