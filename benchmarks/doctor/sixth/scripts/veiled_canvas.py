import torch
import torch.nn as nn


class MAE(nn.Module):
    def __init__(self, patches=16, pixels=16, width=32, keep=6):
        super().__init__()
        self.keep = keep
        self.embed = nn.Linear(pixels, width)
        self.pos = nn.Parameter(0.02 * torch.randn(1, patches, width))
        self.mask_token = nn.Parameter(0.02 * torch.randn(1, 1, width))
        self.encoder = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.decoder = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.predict = nn.Linear(width, pixels)

    def forward(self, patches):
        b, n, _ = patches.shape
        order = torch.rand(b, n).argsort(1)
        back = order.argsort(1)
        x = self.embed(patches) + self.pos
        kept = order[:, : self.keep, None].expand(-1, -1, x.shape[-1])
        seen = self.encoder(x.gather(1, kept))
        filled = torch.cat([seen, self.mask_token.expand(b, n - self.keep, -1)], 1)
        filled = filled.gather(1, back[..., None].expand_as(filled)) + self.pos
        hidden = (back >= self.keep).float()
        error = (self.predict(self.decoder(filled)) - patches).pow(2).mean(-1)
        return (error * hidden).sum() / hidden.sum()


def canvases(n):
    a, b = torch.rand(2, n, 1, 1) * 2 - 1
    r, c = torch.linspace(-1, 1, 16)[:, None], torch.linspace(-1, 1, 16)[None]
    image = a * r + b * c + 0.05 * torch.randn(n, 16, 16)
    return image.view(n, 4, 4, 4, 4).permute(0, 1, 3, 2, 4).reshape(n, 16, 16)


torch.manual_seed(7)
model = MAE()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95))
for step in range(180):
    loss = model(canvases(24))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, loss.item())
