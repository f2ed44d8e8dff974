import torch
import torch.nn as nn

torch.manual_seed(125)
use_amp = True


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv1d(2, 16, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2), nn.Conv1d(16, 16, 5, padding=2), nn.ReLU())
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        return self.fc(self.features(x).mean(-1))


def signals(n):
    y = torch.randint(0, 3, (n,))
    w = torch.tensor([0.5, 1.1, 2.0])[y].view(n, 1, 1)
    t = torch.arange(32).float()
    return 1.3 * torch.sin(w * t + 6.28 * torch.rand(n, 2, 1)) + 0.3 * torch.randn(n, 2, 32), y


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, enabled=use_amp)
criterion = nn.CrossEntropyLoss()

for step in range(120):
    x, y = signals(48)
    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=use_amp):
        out = model(x)
    loss = criterion(out.float(), y)
    optimizer.zero_grad(set_to_none=True)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.3f} scale {scaler.get_scale():.0f}")

x, y = signals(300)
with torch.no_grad():
    print("accuracy", (model(x).argmax(1) == y).float().mean().item())
