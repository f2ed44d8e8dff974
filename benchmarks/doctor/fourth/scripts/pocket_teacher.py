import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(1, channels, 3, padding=1)
        self.fc = nn.Linear(channels * 16, 5)

    def forward(self, x):
        h = F.max_pool2d(F.relu(self.conv(x)), 2)
        return self.fc(h.flatten(1))


class Distiller:
    def __init__(self, teacher, student, temperature=2.0):
        self.teacher = teacher.eval()
        self.student = student
        self.t = temperature
        self.opt = torch.optim.AdamW(student.parameters(), lr=2e-3)

    def loss(self, x):
        with torch.no_grad():
            t = F.log_softmax(self.teacher(x) / self.t, dim=-1)
        s = F.softmax(self.student(x) / self.t, dim=-1)
        return F.kl_div(t, s, reduction="batchmean") * self.t**2

    def epoch(self, loader):
        total = 0.0
        for x, _ in loader:
            loss = self.loss(x)
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()
            total += loss.item()
        return total / len(loader)


def train_teacher(net, loader):
    opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
    for _ in range(3):
        for x, y in loader:
            opt.zero_grad()
            F.cross_entropy(net(x), y).backward()
            opt.step()


torch.manual_seed(0)
y = torch.randint(0, 5, (1500,))
x = torch.randn(5, 1, 8, 8)[y] + 1.2 * torch.randn(1500, 1, 8, 8)
loader = DataLoader(TensorDataset(x, y), batch_size=50, shuffle=True)
teacher, student = Net(32), Net(4)
train_teacher(teacher, loader)
distiller = Distiller(teacher, student)
for epoch in range(5):
    print(epoch, f"{distiller.epoch(loader):.4f}")
