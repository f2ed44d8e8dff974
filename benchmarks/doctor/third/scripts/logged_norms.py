"""Train and log everything."""
import torch
import torch.nn as nn
import torch.nn.functional as F

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(291)
centres = torch.randn(5, 16, device=device)
model = nn.Sequential(
    nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(),
    nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 5)).to(device)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
log = {"loss": [], "acc": [], "norms": []}

for step in range(150):
    y = torch.randint(0, 5, (32,), device=device)
    x = centres[y] + torch.randn(32, 16, device=device)
    optimizer.zero_grad()
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    loss.backward()
    norms = {}
    for name, p in model.named_parameters():
        norms[name] = p.grad.norm().item()
    optimizer.step()
    log["loss"].append(loss.item())
    log["acc"].append((logits.argmax(1) == y).float().mean().item())
    log["norms"].append(norms)

for k in range(0, 150, 30):
    print(k, f"loss {log['loss'][k]:.4f} acc {log['acc'][k]:.3f}")
