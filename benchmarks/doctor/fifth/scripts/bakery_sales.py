import math

import torch
from torch import nn


def make_sales(days=1400):
    day = torch.arange(days, dtype=torch.float32)
    season = torch.sin(2 * math.pi * day / 365)
    week = torch.nn.functional.one_hot((day % 7).long(), 7).float()
    promo = (torch.rand(days) < 0.2).float()
    sales = 0.8 * season + week @ torch.tensor([0.0, -0.5, -0.3, 0.0, 0.4, 1.0, 0.7]) + 0.9 * promo * (1 + season)
    x = torch.cat([season[:, None], week, promo[:, None]], dim=1)
    return x, (sales + 0.1 * torch.randn(days)).unsqueeze(1)


def training_step(model, batch, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    x, y = batch
    loss = nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(10)
    x, y = make_sales()
    order = torch.randperm(len(x))
    train, held = order[:1120], order[1120:]
    model = nn.Sequential(nn.Linear(9, 48), nn.Tanh(), nn.Linear(48, 1))
    for epoch in range(8):
        losses = []
        for idx in train[torch.randperm(len(train))].split(28):
            losses.append(training_step(model, (x[idx], y[idx]), lr=0.01))
        with torch.no_grad():
            held_loss = nn.functional.mse_loss(model(x[held]), y[held]).item()
        print(f"epoch {epoch} train {sum(losses) / len(losses):.4f} held out {held_loss:.4f}")


main()
