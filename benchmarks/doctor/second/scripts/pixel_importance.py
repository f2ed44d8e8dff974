import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3, padding=1)
        self.conv2 = nn.Conv2d(12, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 9, 2)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def plates(n):
    """class 1 has a bright square in its upper left corner, class 0 in the lower right"""
    y = torch.randint(0, 2, (n,))
    x = torch.randn(n, 1, 12, 12)
    x[y == 1, :, 1:5, 1:5] += 1.2
    x[y == 0, :, 7:11, 7:11] += 1.2
    return x, y


def smooth_grad(model, image, target, copies=12, noise=0.3):
    image = image.clone().requires_grad_(True)
    for _ in range(copies):
        score = model(image + noise * torch.randn_like(image))[:, target].sum()
        score.backward()
    return image.grad / copies


torch.manual_seed(41)
loader = DataLoader(TensorDataset(*plates(512)), batch_size=32, shuffle=True)
test_x, test_y = plates(200)
model = Net()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(3):
    model.train()
    for x, y in loader:
        opt.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        opt.step()
    print(f"epoch {epoch}: {loss.item():.3f}")

model.eval()
with torch.no_grad():
    print("test accuracy", (model(test_x).argmax(1) == test_y).float().mean().item())
for target in (0, 1):
    m = smooth_grad(model, test_x[test_y == target][:20], target).abs().mean((0, 1))
    print(f"class {target}: upper left {m[1:5, 1:5].mean():.4f} lower right {m[7:11, 7:11].mean():.4f}")
