import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(8)


def smooth_targets(labels, classes, eps):
    soft = torch.full((len(labels), classes), eps / (classes - 1))
    soft.scatter_(1, labels.unsqueeze(1), 1 - eps)
    return soft


class SmoothedLoss(nn.Module):
    def __init__(self, classes, eps=0.2):
        super().__init__()
        self.classes, self.eps = classes, eps

    def forward(self, logits, labels):
        logp = logits.log_softmax(dim=1)
        return -(smooth_targets(labels, self.classes, self.eps) * logp).sum(1).mean()


digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32) / 16
y = torch.tensor(digits.target)
model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
criterion = SmoothedLoss(10)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
for epoch in range(6):
    for idx in torch.randperm(1500).split(50):
        loss = criterion(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = (model(x[1500:]).argmax(1) == y[1500:]).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.4f} acc {acc:.3f}")
