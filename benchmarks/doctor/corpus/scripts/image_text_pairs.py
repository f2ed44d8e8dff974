"""Match toy pictures with toy captions."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH = 24, 4


class CLIP(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.image = nn.Sequential(nn.Flatten(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, width))
        self.words = nn.EmbeddingBag(VOCAB, width, mode="mean")
        self.text = nn.Linear(width, width)
        self.log_scale = nn.Parameter(torch.tensor(math.log(5.0)))

    def forward(self, image, words):
        i = F.normalize(self.image(image), dim=-1)
        t = F.normalize(self.text(self.words(words)), dim=-1)
        return self.log_scale.exp() * i @ t.t()


torch.manual_seed(179)
strokes = torch.randn(VOCAB, 8, 8)


def pairs(n):
    words = torch.rand(n, VOCAB).argsort(1)[:, :LENGTH]
    image = strokes[words].sum(1) / LENGTH**0.5 + 0.3 * torch.randn(n, 8, 8)
    return image, words


model = CLIP()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(200):
    logits = model(*pairs(48))
    target = torch.arange(48)
    loss = 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"step {step:3d} loss {loss.item():.3f}")
with torch.no_grad():
    hit = (model(*pairs(48)).argmax(1) == torch.arange(48)).float().mean()
print(f"captions found {hit:.2f}, scale {model.log_scale.exp().item():.1f}")
