"""Attention over a set of items: the order of the items in a bag has no meaning."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class SetNet(nn.Module):
    def __init__(self, features=3, width=32):
        super().__init__()
        self.item = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, width))
        self.attn = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm = nn.LayerNorm(width)
        self.seed = nn.Parameter(0.2 * torch.randn(1, 1, width))
        self.pool = nn.MultiheadAttention(width, 4, batch_first=True)
        self.out = nn.Linear(width, 1)

    def forward(self, bags):
        h = self.item(bags)
        h = self.norm(h + self.attn(h, h, h, need_weights=False)[0])
        query = self.seed.expand(len(bags), -1, -1)
        pooled = self.pool(query, h, h, need_weights=False)[0]
        return self.out(pooled.squeeze(1)).squeeze(1)


def bags(n, items=8):
    x = torch.randn(n, items, 3)
    weight = torch.softmax(1.5 * x[..., 0], dim=1)
    return x, 1.5 * (weight * (x[..., 1] + 0.5 * x[..., 2])).sum(1)


def main():
    torch.manual_seed(28)
    x, y = bags(800)
    xt, yt = bags(200)
    model = SetNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(8):
        model.train()
        for idx in torch.randperm(len(x)).split(40):
            loss = F.mse_loss(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            print(f"epoch {epoch}: last batch {loss.item():.4f} test {F.mse_loss(model(xt), yt):.4f}")


main()
