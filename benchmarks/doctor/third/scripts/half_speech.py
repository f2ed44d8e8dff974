"""Small speech-command net with mixed precision."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(3)
device = "cpu"
base = torch.randn(5, 40)


class Command(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(40, 64)
        self.fc2 = nn.Linear(64, 64)
        self.out = nn.Linear(64, 5)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.out(x)


def batch(n=64):
    y = torch.randint(0, 5, (n,))
    return base[y] + torch.randn(n, 40), y


model = Command().to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler(device, init_scale=2.0 ** 13)

for step in range(80):
    x, y = batch()
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast(device_type=device, dtype=torch.bfloat16):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
    scaler.step(optimizer)
    scaler.update()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.4f}")
