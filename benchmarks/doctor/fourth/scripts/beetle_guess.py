import torch
import torch.nn as nn
import torch.nn.functional as F


class Beetle(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.conv2 = nn.Conv2d(8, 16, 3, padding=1)
        self.fc = nn.Linear(16 * 9, 6)
        self.drop = nn.Dropout(0.4)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = self.fc(x.flatten(1))
        return self.drop(x)


torch.manual_seed(0)
y = torch.randint(0, 6, (1500,))
x = torch.randn(6, 1, 12, 12)[y] + torch.randn(1500, 1, 12, 12)
model = Beetle()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    model.train()
    for idx in torch.randperm(1200).split(40):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(x[1200:]).argmax(1) == y[1200:]).float().mean()
    print(f"epoch {epoch}: train {loss.item():.3f} test acc {acc:.3f}")
