"""Ice thickness from temperatures of the last days."""
import torch
import torch.nn as nn

torch.manual_seed(12)
DAYS = 14


def winter(n):
    temps = torch.cumsum(torch.randn(n, DAYS), 1) * 0.4 - 1
    ice = torch.relu(-temps).mean(1, keepdim=True)
    return temps, ice


class Thickness(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 16, 3, padding=1)
        self.head = nn.Sequential(nn.Linear(16 * DAYS, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        return self.head(torch.relu(self.conv(x.unsqueeze(1))).flatten(1))


def test(model, temps, ice):
    model.eval()
    outputs, errors = [], []
    for x, y in zip(temps.split(32), ice.split(32)):
        out = model(x)
        outputs.append(out)
        errors.append(nn.functional.l1_loss(out, y))
    outputs = torch.cat(outputs)
    print(f"  mean prediction {outputs.mean():.3f}, error {torch.stack(errors).mean():.4f}")
    return outputs


model = Thickness()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
train_x, train_y = winter(640)
test_x, test_y = winter(640)
for epoch in range(6):
    model.train()
    for rows in torch.randperm(640).split(32):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(train_x[rows]), train_y[rows])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}")
    predictions = test(model, test_x, test_y)
