import torch
from sklearn.datasets import load_digits

torch.manual_seed(13)
digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32) / 16
y = torch.tensor(digits.target)

w1 = (torch.randn(64, 50) * (2 / 64) ** 0.5).requires_grad_()
b1 = torch.zeros(50, requires_grad=True)
w2 = (torch.randn(50, 10) * (1 / 50) ** 0.5).requires_grad_()
b2 = torch.zeros(10, requires_grad=True)
parameters = [w1, b1, w2, b2]


def forward(batch):
    return torch.relu(batch @ w1 + b1) @ w2 + b2


rate = 0.3
for epoch in range(8):
    total = 0.0
    for idx in torch.randperm(1400).split(40):
        logits = forward(x[idx])
        loss = (logits.logsumexp(1) - logits[torch.arange(len(idx)), y[idx]]).mean()
        loss.backward()
        with torch.no_grad():
            for p in parameters:
                p -= rate * p.grad
                p.grad = None
        total += loss.item()
    rate *= 0.9
    with torch.no_grad():
        acc = (forward(x[1400:]).argmax(1) == y[1400:]).float().mean().item()
    print(f"epoch {epoch}: loss {total / 35:.3f} acc {acc:.3f}")
