import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
EPOCHS = 8
x = torch.randn(2000, 18)
y = (x @ torch.randn(18, 5)).argmax(1)
loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
model = nn.Sequential(nn.Linear(18, 64), nn.ReLU(), nn.Linear(64, 5))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=EPOCHS)

for epoch in range(EPOCHS):
    running = 0.0
    for xb, yb in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(xb), yb)
        loss.backward()
        optimizer.step()
        scheduler.step()
        running += loss.item()
    print(f"epoch {epoch}: loss {running / len(loader):.4f} lr {scheduler.get_last_lr()[0]:.5f}")
held_x = torch.randn(400, 18)
model.eval()
with torch.no_grad():
    shares = model(held_x).softmax(1).mean(0)
print("predicted shares", [round(s, 3) for s in shares.tolist()])
names = ["ant", "bee", "cat", "dog", "elk"]
print("most often:", names[int(shares.argmax())])
