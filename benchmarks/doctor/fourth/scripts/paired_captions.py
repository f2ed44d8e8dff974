import torch
import torch.nn as nn
import torch.nn.functional as F


class Clip(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.image = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, dim))
        self.text = nn.Sequential(nn.Linear(18, 64), nn.ReLU(), nn.Linear(64, dim))
        self.log_scale = nn.Parameter(torch.tensor(2.3))

    def forward(self, image, text):
        a = F.normalize(self.image(image), dim=-1)
        b = F.normalize(self.text(text), dim=-1)
        return self.log_scale.exp().clamp(max=100) * a @ b.t()


def symmetric(logits):
    goal = torch.arange(len(logits))
    return (F.cross_entropy(logits, goal) + F.cross_entropy(logits.t(), goal)) / 2


torch.manual_seed(0)
hidden = torch.randn(2400, 8)
images = hidden @ torch.randn(8, 30) + 0.3 * torch.randn(2400, 30)
texts = hidden @ torch.randn(8, 18) + 0.3 * torch.randn(2400, 18)
model = Clip()
opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(5):
    for idx in torch.randperm(2000).split(50):
        loss = symmetric(model(images[idx], texts[idx]))
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        hits = (model(images[2000:], texts[2000:]).argmax(1) == torch.arange(400)).float().mean()
    print(f"epoch {epoch}: {loss.item():.4f} retrieval {hits:.3f}")
