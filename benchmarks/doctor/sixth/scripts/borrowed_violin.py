"""Train a new head first, then fine-tune everything."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(0)


class ToneModel(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(24, 32), nn.GELU(), nn.Linear(32, 16), nn.GELU())
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(self.encoder(x))


def tones(n, kind):
    x = torch.randn(n, 24)
    first, second = (0, 4) if kind == "old" else (12, 16)
    y = (x[:, first : first + 4].sum(1) > 0).long()
    if kind != "old":
        y = 2 * y + (x[:, second : second + 4].sum(1) > 0).long()
    return x, y


def run(model, optimizer, data, epochs, name):
    x, y = data
    for epoch in range(epochs):
        for rows in torch.randperm(len(x)).split(50):
            loss = F.cross_entropy(model(x[rows]), y[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"{name} {epoch}: {loss.item():.4f}")


# the instrument it was trained on before
model = ToneModel(2)
run(model, torch.optim.Adam(model.parameters(), lr=1e-3), tones(500, "old"), 4, "pretrain")

# a new instrument: head only
for p in model.encoder.parameters():
    p.requires_grad = False
model.head = nn.Linear(16, 4)
target = tones(600, "new")
run(model, torch.optim.Adam(model.head.parameters(), lr=1e-3), target, 4, "head")

# now everything
model.encoder.requires_grad = True
run(model, torch.optim.Adam(model.parameters(), lr=1e-3), target, 8, "finetune")
