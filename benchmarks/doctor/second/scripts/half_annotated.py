"""Main label on every row; a second annotation exists for a third of the batches."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU())
        self.main = nn.Linear(32, 3)
        self.extra = nn.Linear(32, 2)

    def forward(self, x, with_extra=False):
        h = self.trunk(x)
        return (self.main(h), self.extra(h)) if with_extra else self.main(h)


def rows(n):
    x = torch.randn(n, 12)
    main = torch.bucketize(x[:, 0] + 0.7 * x[:, 1] * x[:, 2], torch.tensor([-0.5, 0.5]))
    extra = torch.stack([x[:, 1] * x[:, 2], x[:, 0]], 1)
    return x, main, extra


torch.manual_seed(14)
x, main, extra = rows(1500)
plain = DataLoader(TensorDataset(x[:1000], main[:1000]), batch_size=50, shuffle=True)
rich = DataLoader(TensorDataset(x[1000:], main[1000:], extra[1000:]), batch_size=50, shuffle=True)
xt, mt, _ = rows(400)
model = Model()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    model.train()
    source = iter(rich)
    total = 0.0
    for i, (bx, by) in enumerate(plain):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(bx), by)
        loss.backward()
        optimizer.step()
        total += loss.item() / len(plain)
        if i % 2 == 1:
            ex, ey, ee = next(source)
            optimizer.zero_grad()
            logits, guess = model(ex, with_extra=True)
            loss = F.cross_entropy(logits, ey) + 0.5 * F.mse_loss(guess, ee)
            loss.backward()
            optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(xt).argmax(1) == mt).float().mean()
    print(f"epoch {epoch}: main loss {total:.3f} test accuracy {acc:.3f}")
