import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import CosineAnnealingLR

torch.manual_seed(0)
N = 384
labels = torch.randint(0, 4, (N,))
images = 0.7 * torch.randn(N, 1, 8, 8)
for k, c in enumerate(labels.tolist()):  # a bright quadrant
    r, s = divmod(c, 2)
    images[k, 0, 4 * r : 4 * r + 4, 4 * s : 4 * s + 4] += 1.0
images = (images - images.mean()) / images.std()

cnn = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
    nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(128, 4),
)
epochs, batch = 4, 32
train_idx, test_idx = torch.arange(320), torch.arange(320, N)
optimizer = torch.optim.SGD(cnn.parameters(), lr=0.1, momentum=0.9)
scheduler = CosineAnnealingLR(optimizer, T_max=epochs * 10)

for epoch in range(epochs):
    for idx in train_idx[torch.randperm(320)].split(batch):
        scheduler.step()
        optimizer.zero_grad()
        loss = F.cross_entropy(cnn(images[idx]), labels[idx])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = (cnn(images[test_idx]).argmax(1) == labels[test_idx]).float().mean().item()
    print(f"epoch {epoch} lr {scheduler.get_last_lr()[0]:.4f} loss {loss.item():.3f} test acc {acc:.2f}")
