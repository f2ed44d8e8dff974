import torch
from torch import nn

torch.manual_seed(12)


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(10, 48), nn.ReLU())
        self.kind = nn.Linear(48, 3)
        self.size = nn.Linear(48, 1)

    def forward(self, x):
        h = self.trunk(x)
        return self.kind(h), self.size(h).squeeze(1)


def things(n):
    x = torch.randn(n, 10)
    kind = x[:, :3].argmax(1)
    size = x[:, 3] - 0.5 * x[:, 4].abs()
    return x, kind, size


x, kind, size = things(1500)
xv, kv, sv = things(300)
model = TwoHeads()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    model.train()
    for idx in torch.randperm(len(x)).split(50):
        logits, guess = model(x[idx])
        loss_kind = nn.functional.cross_entropy(logits, kind[idx])
        loss_size = nn.functional.mse_loss(guess, size[idx])
        optimizer.zero_grad()
        loss_kind.backward(retain_graph=True)
        (0.5 * loss_size).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        logits, guess = model(xv)
        acc = (logits.argmax(1) == kv).float().mean()
        mse = (guess - sv).pow(2).mean()
    print(f"epoch {epoch}: accuracy {acc:.3f} mse {mse:.4f}")
