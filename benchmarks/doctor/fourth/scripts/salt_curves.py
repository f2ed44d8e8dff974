import torch
import torch.nn as nn
import torch.nn.functional as F


def net():
    return nn.Sequential(nn.Linear(9, 40), nn.ReLU(), nn.Linear(40, 1))


def train_step(model, x, y, lr):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    x = torch.randn(1500, 9)
    y = torch.sin(2 * x[:, :1]) + 0.3 * x[:, 1:2]
    model = net()
    for epoch in range(6):
        losses = [train_step(model, x[i], y[i], lr=5e-3) for i in torch.randperm(1500).split(30)]
        print(epoch, round(sum(losses) / len(losses), 4))


main()
