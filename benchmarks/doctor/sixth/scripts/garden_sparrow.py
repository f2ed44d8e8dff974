import torch
import torch.nn as nn

torch.manual_seed(0)
calls = torch.randn(512, 1, 32)
kinds = (calls[:, 0, :16].mean(1) > calls[:, 0, 16:].mean(1)).long()

model = nn.Sequential(
    nn.Conv1d(1, 8, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(32, 2)
)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=60, gamma=0.5)

for epoch in range(10):
    for rows in torch.randperm(512).split(32):
        scheduler.step()
        optimizer.zero_grad()
        loss = criterion(model(calls[rows]), kinds[rows])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        accuracy = (model(calls).argmax(1) == kinds).float().mean().item()
    print(f"epoch {epoch} lr {scheduler.get_last_lr()[0]:.4f} loss {loss.item():.4f} train accuracy {accuracy:.3f}")
