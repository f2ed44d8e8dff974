import torch
import torch.nn as nn


def turbines(n, seed):
    g = torch.Generator().manual_seed(seed)
    age = 10 * torch.rand(n, 1, generator=g)
    sensors = torch.randn(n, 7, generator=g) * 3 + 40 + age * torch.linspace(0.2, 2, 7)
    wear = 0.5 * age + 0.1 * torch.randn(n, 1, generator=g)
    return sensors, wear


class Wear(nn.Module):
    def __init__(self, mean, std):
        super().__init__()
        self.register_buffer("mean", mean)
        self.register_buffer("std", std)
        self.net = nn.Sequential(nn.Linear(7, 48), nn.SiLU(), nn.Linear(48, 1))

    def forward(self, x):
        return self.net((x - self.mean) / self.std)


torch.manual_seed(0)
train_x, train_y = turbines(1600, seed=1)
val_x, val_y = turbines(300, seed=2)
model = Wear(train_x.mean(0), train_x.std(0))
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=8)
for epoch in range(8):
    model.train()
    for idx in torch.randperm(len(train_x)).split(32):
        opt.zero_grad()
        loss = nn.functional.huber_loss(model(train_x[idx]), train_y[idx])
        loss.backward()
        opt.step()
    sched.step()
    model.eval()
    with torch.inference_mode():
        print(epoch, f"{nn.functional.huber_loss(model(val_x), val_y):.4f}", f"lr {sched.get_last_lr()[0]:.5f}")
