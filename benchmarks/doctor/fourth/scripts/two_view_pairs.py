import torch
import torch.nn as nn
import torch.nn.functional as F


def pairs(n, generator):
    base = torch.randn(n, 12, generator=generator)
    same = torch.rand(n, generator=generator) < 0.5
    noise = torch.randn(n, 12, generator=generator)
    other = torch.where(same[:, None], base + 0.2 * noise, noise)
    other[:40] = base[:40]
    same[:40] = True
    return torch.utils.data.TensorDataset(base, other, same.float())


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(12, 48)
        self.second = nn.Linear(48, 16)

    def forward(self, x):
        return self.second(F.gelu(self.first(x)))


def main():
    torch.manual_seed(0)
    gen = torch.Generator().manual_seed(1)
    loader = torch.utils.data.DataLoader(pairs(3000, gen), batch_size=50, shuffle=True)
    tower = Tower()
    optimizer = torch.optim.AdamW(tower.parameters(), lr=2e-3)
    for epoch in range(4):
        running, seen = 0.0, 0
        for a, b, same in loader:
            gap = ((tower(a) - tower(b)).square().sum(1) + 1e-8).sqrt()
            near = same * gap.square()
            far = (1 - same) * (1.0 - gap).clamp(min=0).square()
            loss = (near + far).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item() * len(a)
            seen += len(a)
        print(epoch, round(running / seen, 4))


if __name__ == "__main__":
    main()
