"""Predict the hardening class and the yield point from a stress-strain curve."""
import torch
from torch import nn


class CurveModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.AvgPool1d(2),
            nn.Conv1d(16, 16, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(),
        )
        self.kind = nn.Linear(64, 3)
        self.yield_point = nn.Linear(64, 1)

    @torch.no_grad()
    def encode(self, curve):
        return self.encoder(curve)

    def forward(self, curve):
        z = self.encode(curve)
        return self.kind(z), self.yield_point(z).squeeze(1)


def curves(n):
    strain = torch.linspace(0, 1, 48)
    kind = torch.randint(0, 3, (n,))
    knee = 0.2 + 0.5 * torch.rand(n)
    slope = torch.tensor([0.0, 0.6, -0.5])[kind]
    stress = torch.minimum(strain, knee[:, None]) + slope[:, None] * (strain - knee[:, None]).clamp(min=0)
    stress = stress + 0.02 * torch.randn(n, 48)
    return ((stress - 0.35) / 0.23).unsqueeze(1), kind, (knee - 0.45) / 0.145


def objective(out, kind, knee):
    return nn.functional.cross_entropy(out[0], kind) + 0.5 * nn.functional.mse_loss(out[1], knee)


torch.manual_seed(2107)
model = CurveModel()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
curve, kind, knee = curves(600)
for epoch in range(8):
    total = 0.0
    for idx in torch.randperm(600).split(50):
        loss = objective(model(curve[idx]), kind[idx], knee[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 12
    print(f"{epoch}: {total:.4f}")
curve, kind, knee = curves(200)
with torch.no_grad():
    k, p = model(curve)
print("kind", (k.argmax(1) == kind).float().mean().item(), "knee mse", (p - knee).square().mean().item())
