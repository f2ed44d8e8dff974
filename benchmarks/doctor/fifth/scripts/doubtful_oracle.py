import torch
from torch import nn

torch.manual_seed(29)


class Oracle(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(1, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1)
        )

    def forward(self, x):
        return self.layers(x)


def enable_dropout(module):
    for m in module.modules():
        if isinstance(m, nn.Dropout):
            m.train()


x = torch.rand(800, 1) * 4 - 2
y = torch.sin(2 * x) + 0.1 * torch.randn_like(x)
grid = torch.linspace(-2, 2, 101).unsqueeze(1)
model = Oracle()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(12):
    model.train()
    for idx in torch.randperm(len(x)).split(40):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        error = nn.functional.mse_loss(model(grid), torch.sin(2 * grid)).item()
    if epoch % 3 == 2:
        print(f"epoch {epoch + 1}: train {loss.item():.4f} grid {error:.4f}")

model.eval()
enable_dropout(model)
with torch.no_grad():
    draws = torch.stack([model(grid) for _ in range(30)])
print(f"mean uncertainty {draws.std(0).mean():.4f}")
