import torch
import torch.nn as nn


class Config:
    epochs = 10
    batch = 50
    max_lr = 0.2


def data(n=2000):
    torch.manual_seed(0)
    x = torch.randn(n, 12)
    y = torch.sin(x[:, :1] * 2) + 0.3 * x[:, 1:2] * x[:, 2:3]
    return x, y


def train(cfg):
    x, y = data()
    model = nn.Sequential(nn.Linear(12, 64), nn.Tanh(), nn.Linear(64, 1))
    per_epoch = len(x) // cfg.batch
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=cfg.max_lr, epochs=cfg.epochs, steps_per_epoch=per_epoch
    )
    for epoch in range(cfg.epochs):
        losses = []
        for idx in torch.randperm(len(x)).split(cfg.batch):
            loss = nn.functional.mse_loss(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        scheduler.step()
        rate = optimizer.param_groups[0]["lr"]
        print(f"epoch {epoch} loss {torch.stack(losses).mean():.4f} rate {rate:.4f}")


train(Config())
