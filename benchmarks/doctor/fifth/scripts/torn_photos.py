import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(48)


class MaskedAutoencoder(nn.Module):
    def __init__(self, tokens=16, patch=4, dim=192):
        super().__init__()
        self.blank = nn.Parameter(torch.zeros(tokens, patch))
        self.encoder = nn.Sequential(nn.Linear(tokens * patch, dim), nn.GELU(), nn.Linear(dim, dim), nn.GELU())
        self.out = nn.Linear(dim, tokens * patch)

    def forward(self, patches, hidden):
        seen = torch.where(hidden.unsqueeze(-1), self.blank, patches)
        return self.out(self.encoder(seen.flatten(1))).view_as(patches)


def masked_loss(guess, patches, hidden):
    error = (guess - patches).pow(2).mean(-1)
    return (error * hidden).sum() / hidden.sum()


def tear(patches, share=0.4):
    hidden = torch.rand(patches.shape[:2]) < share
    hidden[:, 0] = True
    return hidden


images = torch.tensor(load_digits().images, dtype=torch.float32) / 16
patches = images.unfold(1, 2, 2).unfold(2, 2, 2).reshape(-1, 16, 4)
train, test = patches[:1500], patches[1500:]
model = MaskedAutoencoder()
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(8):
    model.train()
    for batch in train[torch.randperm(len(train))].split(50):
        hidden = tear(batch)
        loss = masked_loss(model(batch, hidden), batch, hidden)
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        hidden = tear(test)
        held = masked_loss(model(test, hidden), test, hidden)
        plain = masked_loss(train.mean(0).expand_as(test), test, hidden)
    print(f"epoch {epoch}: train {loss.item():.4f} test {held:.4f} (mean guess {plain:.4f})")
