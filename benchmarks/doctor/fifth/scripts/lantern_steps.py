import torch
import torch.nn as nn
from torch.optim.lr_scheduler import LambdaLR

torch.manual_seed(44)
TOTAL, WARMUP = 240, 24


def rate(step):
    if step < WARMUP:
        return (step + 1) / WARMUP
    return max(0.05, (TOTAL - step) / (TOTAL - WARMUP))


class LightningLike:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(10, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))

    def configure_optimizers(self):
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=4e-3)
        return optimizer, LambdaLR(optimizer, rate)

    def training_step(self, batch):
        x, y = batch
        return nn.functional.mse_loss(self.model(x).squeeze(1), y)


def fit(module, make_batch, steps):
    optimizer, scheduler = module.configure_optimizers()
    for step in range(steps):
        loss = module.training_step(make_batch())
        optimizer.zero_grad()
        loss.backward()
        scheduler.step()
        optimizer.step()
        if step % 40 == 39:
            print(f"step {step + 1} loss {loss.item():.4f} lr {scheduler.get_last_lr()[0]:.5f}")


def make_batch(size=64):
    x = torch.randn(size, 10)
    y = torch.tanh(x[:, 0] * x[:, 1]) + 0.5 * x[:, 2] - 0.25 * x[:, 3].abs()
    return x, y


fit(LightningLike(), make_batch, TOTAL)
