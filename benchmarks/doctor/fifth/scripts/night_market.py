import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.amp import GradScaler, autocast

torch.manual_seed(51)
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16
labels = torch.tensor(digits.target)


class Market(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 12, 3, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(4)
        self.fc = nn.Linear(12 * 16, 10)

    def forward(self, x):
        return self.fc(self.pool(torch.relu(self.stem(x))).flatten(1))


model = Market()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = GradScaler("cpu", init_scale=1024.0)
criterion = nn.CrossEntropyLoss()

for epoch in range(4):
    model.train()
    for idx in torch.randperm(1400).split(50):
        optimizer.zero_grad()
        with autocast("cpu", dtype=torch.bfloat16):
            out = model(images[idx])
        loss = criterion(out.float(), labels[idx])
        scaler.scale(loss).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(images[1400:]).argmax(1) == labels[1400:]).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.3f} acc {acc:.3f}")
