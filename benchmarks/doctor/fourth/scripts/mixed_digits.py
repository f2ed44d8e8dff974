import torch
import torch.nn as nn

torch.manual_seed(0)
y = torch.randint(0, 6, (1800,))
x = torch.randn(6, 1, 10, 10)[y] + 0.8 * torch.randn(1800, 1, 10, 10)

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(400, 6)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu")
use_amp = True

for epoch in range(5):
    hits = 0
    for idx in torch.randperm(len(x)).split(60):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16, enabled=use_amp):
            out = model(x[idx])
            loss = nn.functional.cross_entropy(out, y[idx])
        if use_amp:
            scaled = scaler.scale(loss)
            loss.backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
        hits += (out.argmax(1) == y[idx]).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.4f} acc {hits / len(x):.3f}")
