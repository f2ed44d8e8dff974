import torch
import torch.nn as nn
import torch.nn.functional as F


class CourierModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.place = nn.Embedding(30, 8)
        self.mlp = nn.Sequential(nn.Linear(17, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, a, b, load):
        return self.mlp(torch.cat([self.place(a), self.place(b), load], -1)).squeeze(-1)


def trips(n, map_):
    a, b = torch.randint(0, 30, (n,)), torch.randint(0, 30, (n,))
    load = torch.rand(n, 1)
    minutes = (map_[a] - map_[b]).norm(dim=-1) * (1 + 0.5 * load[:, 0])
    return a, b, load, minutes


def train_step(model, batch, lr):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.95)
    a, b, load, minutes = batch
    optimizer.zero_grad()
    loss = F.mse_loss(model(a, b, load), minutes)
    loss.backward()
    optimizer.step()
    return loss.item()


def main():
    torch.manual_seed(0)
    map_ = torch.rand(30, 2) * 2
    model = CourierModel()
    recent = []
    for step in range(800):
        recent.append(train_step(model, trips(32, map_), lr=0.003))
        if step % 100 == 99:
            print(f"step {step + 1} loss {sum(recent[-100:]) / 100:.4f}")


main()
