import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(15)


class Config:
    epochs = 5
    batch_size = 32
    lr = 0.1
    max_grad_norm = 1.0


class Mill(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv1d(2, 16, 5, padding=2), nn.ReLU(), nn.Conv1d(16, 16, 5, padding=2, stride=2), nn.ReLU()
        )
        self.fc = nn.Linear(16, 3)

    def forward(self, x):
        return self.fc(self.conv(x).mean(dim=2))


def streams(n):
    kind = torch.randint(0, 3, (n,))
    t = torch.linspace(0, 1, 32)
    freq = torch.tensor([2.0, 5.0, 9.0])[kind][:, None]
    phase = 6.28 * torch.rand(n, 1)
    x = torch.stack([torch.sin(6.28 * freq * t + phase), torch.cos(6.28 * freq * t + phase)], dim=1)
    return x + 0.4 * torch.randn_like(x), kind


def train(cfg):
    loader = DataLoader(TensorDataset(*streams(960)), batch_size=cfg.batch_size, shuffle=True)
    model = Mill()
    opt = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
    for epoch in range(cfg.epochs):
        total = 0.0
        for x, y in loader:
            opt.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = nn.functional.cross_entropy(model(x).float(), y)
            scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_grad_norm)
            scaler.step(opt)
            scaler.update()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.4f}")


train(Config())
