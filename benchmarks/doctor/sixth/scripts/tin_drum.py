import torch
import torch.nn as nn
import torch.nn.functional as F


class DrumAutoencoder(nn.Module):
    def __init__(self, n_in=40, n_hidden=24):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(n_in, n_hidden), nn.ReLU())
        self.decoder = nn.Linear(n_hidden, n_in)
        nn.init.kaiming_normal_(self.encoder[0].weight)
        nn.init.constant_(self.encoder[0].bias, -12.0)

    def forward(self, x):
        code = self.encoder(x)
        return self.decoder(code), code


def beats(n):
    basis = torch.randn(6, 40, generator=torch.Generator().manual_seed(99))
    return torch.randn(n, 6) @ basis / 2.5


torch.manual_seed(4)
model = DrumAutoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
train_x, val_x = beats(512), beats(128)
for epoch in range(15):
    model.train()
    for batch in train_x[torch.randperm(512)].split(32):
        rebuilt, _ = model(batch)
        loss = F.mse_loss(rebuilt, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        rebuilt, _ = model(val_x)
        print(f"epoch {epoch:02d} train {loss.item():.4f} val {F.mse_loss(rebuilt, val_x).item():.4f}")
