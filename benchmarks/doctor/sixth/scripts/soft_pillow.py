import torch
import torch.nn as nn
import torch.nn.functional as F


def smooth(labels, classes, eps=0.1):
    return F.one_hot(labels, classes) * (1 - eps) + eps / classes


class SoftLoss(nn.Module):
    def forward(self, logits, soft):
        return -(soft * F.log_softmax(logits, dim=-1)).sum(-1).mean()


def feathers(n):
    x = torch.randn(n, 1, 10, 10)
    y = x[:, 0].view(n, 2, 5, 10).mean((2, 3)).argmax(1) + 2 * (x[:, 0, :, :5].mean((1, 2)) > 0)
    return x, y.long()


torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(100, 48), nn.ReLU(), nn.Dropout(0.1), nn.Linear(48, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
loss_fn = SoftLoss()
x, y = feathers(800)
x_val, y_val = feathers(200)
for epoch in range(10):
    model.train()
    for rows in torch.randperm(800).split(32):
        loss = loss_fn(model(x[rows]), smooth(y[rows], 4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        out = model(x_val)
    print(f"{epoch} train {loss.item():.4f} val {F.cross_entropy(out, y_val).item():.4f} {(out.argmax(1) == y_val).float().mean().item():.3f}")
