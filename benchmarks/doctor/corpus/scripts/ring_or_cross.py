import torch
from torch import nn, optim
import torch.nn.functional as F


class SmallCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 9, 2)

    def init_weights(self):
        for m in (self.conv1, self.conv2, self.fc):
            fan_in = m.weight[0].numel()
            m.weight = nn.Parameter(torch.randn_like(m.weight) * (0.5 / fan_in) ** 0.5)
            m.bias = nn.Parameter(torch.zeros_like(m.bias))

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def shapes(n):
    """Crosses (0) and rings (1) on 12x12 images."""
    yy, xx = torch.meshgrid(torch.arange(12.0), torch.arange(12.0), indexing="ij")
    label = torch.randint(0, 2, (n,))
    out = torch.empty(n, 1, 12, 12)
    for k in range(n):
        cy, cx = 4 + 4 * torch.rand(2)
        dy, dx = yy - cy, xx - cx
        if label[k]:
            img = ((dy**2 + dx**2).sqrt() - 3).abs() < 0.8
        else:
            img = ((dy.abs() < 1) | (dx.abs() < 1)) & (dy.abs() < 4) & (dx.abs() < 4)
        out[k, 0] = img.float()
    return (out - 0.25) / 0.43 + 0.5 * torch.randn_like(out), label


torch.manual_seed(4)
images, labels = shapes(256)
test_images, test_labels = shapes(100)
model = SmallCNN()
optimizer = optim.Adam(model.parameters(), lr=2e-3)
model.init_weights()
for epoch in range(5):
    for batch in torch.randperm(256).split(32):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images[batch]), labels[batch])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = (model(test_images).argmax(1) == test_labels).float().mean()
    print(f"epoch {epoch}: loss {loss:.3f} acc {acc:.2f}")
