import torch
import torch.nn as nn
import torch.nn.functional as F


def spectra(n, g):
    y = torch.randint(0, 3, (n,), generator=g)
    t = torch.arange(64)
    centre = torch.tensor([16.0, 32.0, 48.0])[y][:, None] + 4 * torch.randn(n, 1, generator=g)
    return torch.exp(-((t - centre) ** 2) / 30) + 0.4 * torch.randn(n, 64, generator=g), y


class Lab:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 3))
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=2e-3)

    def fit(self, x, y):
        self.model.train()
        for idx in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(self.model(x[idx]), y[idx])
            self.opt.zero_grad()
            loss.backward()
            self.opt.step()

    @torch.no_grad()
    def report(self, x, y):
        self.model.eval()
        outputs = torch.cat([self.model(part) for part in x.split(100)])
        return F.cross_entropy(outputs, y).item(), (outputs.argmax(1) == y).float().mean().item()


torch.manual_seed(0)
g = torch.Generator().manual_seed(1)
train, held = spectra(1500, g), spectra(500, g)
lab = Lab()
for epoch in range(5):
    lab.fit(*train)
    print(epoch, "loss %.4f accuracy %.3f" % lab.report(*held))
