"""Star ratings from bags of words; short reviews are padded with zeros."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

WORDS, LONGEST = 80, 12


class MaskedMean(nn.Module):
    def forward(self, vectors, mask):
        mask = mask.unsqueeze(-1).float()
        return (vectors * mask).sum(1) / mask.sum(1)


class RatingNet(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.embed = nn.Embedding(WORDS, dim, padding_idx=0)
        self.pool = MaskedMean()
        self.mlp = nn.Sequential(nn.Linear(dim, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, tokens):
        h = self.pool(self.embed(tokens), tokens != 0)
        return self.mlp(h).squeeze(1)


def reviews(n, mood, gen):
    tokens = torch.randint(1, WORDS, (n, LONGEST), generator=gen)
    lengths = torch.randint(0, 60, (n,), generator=gen).clamp(max=LONGEST)
    tokens[torch.arange(LONGEST) >= lengths[:, None]] = 0
    stars = mood[tokens].sum(1) / lengths.clamp(min=1).sqrt()
    return tokens, stars + 0.1 * torch.randn(n, generator=gen)


torch.manual_seed(2120)
gen = torch.Generator().manual_seed(3)
mood = torch.randn(WORDS, generator=gen)
mood[0] = 0
loader = DataLoader(TensorDataset(*reviews(480, mood, gen)), batch_size=16, shuffle=True)
model = RatingNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(4):
    total = 0.0
    for tokens, stars in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(tokens), stars)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: mse {total / len(loader):.4f}")
