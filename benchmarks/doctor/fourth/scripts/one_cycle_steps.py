import torch
import torch.nn as nn

torch.manual_seed(0)
epochs, batch = 8, 50
x = torch.randn(2000, 12)
y = torch.sin(x[:, :1] * 2) + 0.3 * x[:, 1:2] * x[:, 2:3]
model = nn.Sequential(nn.Linear(12, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=1e-2, total_steps=epochs * (len(x) // batch), pct_start=0.2
)


def one_epoch():
    total = torch.zeros(())
    for idx in torch.randperm(len(x)).split(batch):
        loss = nn.functional.mse_loss(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.detach()
    return total.item() * batch / len(x)


for epoch in range(epochs):
    print(f"epoch {epoch} loss {one_epoch():.4f} rate {scheduler.get_last_lr()[0]:.5f}")
with torch.no_grad():
    print("fit", nn.functional.mse_loss(model(x), y).item())
