"""Find a motif in short DNA strings."""
import torch
from torch import nn


class MotifNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(4, 16, 6)
        self.bn = nn.BatchNorm1d(16)
        self.drop = nn.Dropout(0.2)
        self.fc = nn.Linear(16, 1)

    def forward(self, x):
        h = torch.relu(self.bn(self.conv(x)))
        return self.fc(self.drop(h.amax(dim=2)))


def sequences(n, length=30):
    codes = torch.randint(0, 4, (n, length))
    label = torch.randint(0, 2, (n,))
    motif = torch.tensor([0, 3, 2, 2, 1, 0])
    for i in label.nonzero().flatten().tolist():
        s = torch.randint(0, length - 6, (1,)).item()
        codes[i, s : s + 6] = motif
    onehot = nn.functional.one_hot(codes, 4).float().transpose(1, 2)
    return (onehot - 0.25) / 0.43, label.float().unsqueeze(1)


torch.manual_seed(80)
model = MotifNet()
model.eval()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
loss_fn = nn.BCEWithLogitsLoss()
x, y = sequences(512)
for epoch in range(8):
    losses = []
    for idx in torch.randperm(512).split(32):
        loss = loss_fn(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print("epoch", epoch, "loss", round(sum(losses) / len(losses), 3))

x_test, y_test = sequences(200)
model.eval()
with torch.no_grad():
    print("accuracy", ((model(x_test) > 0).float() == y_test).float().mean().item())
