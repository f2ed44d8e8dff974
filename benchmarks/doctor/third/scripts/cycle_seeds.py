"""OneCycle with gradient accumulation."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(105)
centres = torch.randn(6, 14)
y = torch.randint(0, 6, (960,))
x = centres[y] + torch.randn(960, 14)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
epochs, every = 5, 2
updates = epochs * (len(loader) // every)

model = nn.Sequential(nn.Linear(14, 64), nn.ReLU(), nn.Linear(64, 6))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-2, total_steps=updates, pct_start=0.3)

model.train()
for epoch in range(epochs):
    optimizer.zero_grad()
    running = 0.0
    for i, (xb, yb) in enumerate(loader, 1):
        loss = nn.functional.cross_entropy(model(xb), yb)
        (loss / every).backward()
        running += loss.item()
        if i % every == 0:
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
    print(f"epoch {epoch} loss {running / len(loader):.4f} lr {scheduler.get_last_lr()[0]:.6f}")
