import torch
import torch.nn as nn
import torch.nn.functional as F


class Easer(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1, self.l2 = nn.Linear(14, 64), nn.Linear(64, 6)

    def forward(self, x):
        return self.l2(F.relu(self.l1(x)))


torch.manual_seed(0)
x = torch.randn(3000, 14)
y = (x @ torch.randn(14, 6)).argmax(1)
cut = 2400
model = Easer()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
for epoch in range(7):
    model.train()
    for idx in torch.randperm(cut).split(30):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        held = F.cross_entropy(model(x[cut:]), y[cut:]).item()
    scheduler.step(held)
    print(f"epoch {epoch}: {held:.4f}, lr {optimizer.param_groups[0]['lr']:.2e}")
