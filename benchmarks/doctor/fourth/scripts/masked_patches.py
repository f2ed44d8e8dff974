import torch
import torch.nn as nn


class MaskedAutoencoder(nn.Module):
    def __init__(self, patches=16, pixels=9, dim=32):
        super().__init__()
        self.inp = nn.Linear(pixels, dim)
        self.pos = nn.Parameter(0.02 * torch.randn(1, patches, dim))
        self.blank = nn.Parameter(0.02 * torch.randn(1, 1, dim))
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(dim, pixels)

    def forward(self, x, hidden):
        h = torch.where(hidden.unsqueeze(-1).bool(), self.blank, self.inp(x))
        return self.out(self.body(h + self.pos))


def patchify(images):
    n = len(images)
    return images.view(n, 4, 3, 4, 3).permute(0, 1, 3, 2, 4).reshape(n, 16, 9)


def waves(n):
    i = torch.arange(12.0)
    fx, fy, s = 0.3 * torch.rand(n, 1, 1), 0.3 * torch.rand(n, 1, 1), 6.28 * torch.rand(n, 1, 1)
    return torch.sin(fx * i[None, :, None] + fy * i[None, None] + s)


torch.manual_seed(0)
data = patchify(waves(1200))
model = MaskedAutoencoder()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(8):
    total = 0.0
    for idx in torch.randperm(1200).split(40):
        x = data[idx]
        hidden = (torch.rand(len(x), 16).argsort(1) < 8).float()
        error = (model(x, hidden) - x).square().mean(-1)
        loss = (error * hidden).sum() / hidden.sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        total += loss.item()
    print(f"epoch {epoch}: {total / 30:.4f}")
