import torch
import torch.nn as nn


class Table(torch.utils.data.Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.district = torch.randint(0, 12, (n,), generator=g)
        self.area = torch.rand(n, generator=g)
        self.age = torch.rand(n, generator=g)
        level = torch.linspace(-1, 1, 12)[self.district]
        self.price = 2 * self.area - self.age + level + 0.2 * torch.randn(n, generator=g)

    def __len__(self):
        return len(self.price)

    def __getitem__(self, i):
        return self.district[i], torch.stack([self.area[i], self.age[i]]) - 0.5, self.price[i]


class Prices(nn.Module):
    def __init__(self):
        super().__init__()
        self.district = nn.Embedding(12, 4)
        self.net = nn.Sequential(nn.Linear(6, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, district, numbers):
        return self.net(torch.cat([self.district(district), numbers], dim=1)).squeeze(1)


torch.manual_seed(0)
train = torch.utils.data.DataLoader(Table(1500, 1), batch_size=30, shuffle=True)
test = torch.utils.data.DataLoader(Table(300, 2), batch_size=100)
model = Prices()
opt = torch.optim.AdamW(model.parameters(), lr=4e-3)
for epoch in range(5):
    model.train()
    for district, numbers, price in train:
        loss = nn.functional.mse_loss(model(district, numbers), price)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        errors = [nn.functional.l1_loss(model(d, n), p).item() for d, n, p in test]
    print(f"epoch {epoch}: mae {sum(errors) / len(errors):.4f}")
