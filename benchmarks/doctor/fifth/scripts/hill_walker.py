import copy

import torch
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from torch import nn

torch.manual_seed(22)
data = load_diabetes()
x_tr, x_va, y_tr, y_va = train_test_split(data.data, data.target, test_size=0.25, random_state=1)
mx, sx, my, sy = x_tr.mean(0), x_tr.std(0), y_tr.mean(), y_tr.std()
prep = lambda a, m, s: torch.tensor((a - m) / s, dtype=torch.float32)
x_tr, x_va = prep(x_tr, mx, sx), prep(x_va, mx, sx)
y_tr, y_va = prep(y_tr, my, sy), prep(y_va, my, sy)

model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 1), nn.Flatten(0))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=2)
best, best_state = float("inf"), None
for epoch in range(20):
    model.train()
    for idx in torch.randperm(len(x_tr)).split(32):
        loss = nn.functional.mse_loss(model(x_tr[idx]), y_tr[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        val = nn.functional.mse_loss(model(x_va), y_va).item()
    scheduler.step(val)
    if val < best:
        best, best_state = val, copy.deepcopy(model.state_dict())
    if epoch % 4 == 3:
        print(f"epoch {epoch + 1}: val {val:.4f} lr {optimizer.param_groups[0]['lr']:.5f}")
model.load_state_dict(best_state)
print(f"best validation mse {best:.4f} (variance {y_va.var():.3f})")
