"""Next-stop prediction with a masked encoder layer."""
import torch
from torch import nn


class Stops(nn.Module):
    def __init__(self, stops=15, width=32, longest=20):
        super().__init__()
        self.stop = nn.Embedding(stops, width)
        self.place = nn.Parameter(torch.randn(1, longest, width) * 0.02)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.ff = nn.Sequential(nn.Linear(width, 64), nn.ReLU(), nn.Linear(64, width))
        self.out = nn.Linear(width, stops)

    def forward(self, route):
        T = route.shape[1]
        blocked = torch.ones(T, T, dtype=torch.bool).triu(1)
        x = self.stop(route) + self.place[:, :T]
        n = self.norm1(x)
        x = x + self.attention(n, n, n, attn_mask=blocked, need_weights=False)[0]
        return self.out(x + self.ff(self.norm2(x)))


def routes(n, length=16):
    start, stride = torch.randint(0, 15, (n, 1)), torch.randint(1, 4, (n, 1))
    return (start + stride * torch.arange(length)) % 15


def main():
    torch.manual_seed(2)
    model = Stops()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    criterion = nn.CrossEntropyLoss()
    for step in range(200):
        route = routes(24)
        scores = model(route[:, :-1])
        loss = criterion(scores.transpose(1, 2), route[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.4f}")


main()
