import torch
import torch.nn.functional as F

torch.manual_seed(13)
n = 900
kind = torch.randint(0, 3, (n,))
centre = torch.tensor([[0.0, 1.2, -0.5], [1.1, -0.8, 0.3], [-1.2, -0.4, 0.6]])
x = centre[kind] + 0.7 * torch.randn(n, 3)
x = (x - x[:700].mean(0)) / x[:700].std(0)
train_x, train_y, test_x, test_y = x[:700], kind[:700], x[700:], kind[700:]

# a network of two layers, as plain tensors
w1 = (torch.randn(3, 32) * (2 / 3) ** 0.5).requires_grad_()
b1 = torch.zeros(32, requires_grad=True)
w2 = (torch.randn(32, 3) * (1 / 32) ** 0.5).requires_grad_()
b2 = torch.zeros(3, requires_grad=True)
params = [w1, b1, w2, b2]
speed = [torch.zeros_like(p) for p in params]
lr, momentum = 0.05, 0.9


def scores(inp):
    return F.relu(inp @ w1 + b1) @ w2 + b2


for epoch in range(6):
    total = 0.0
    for idx in torch.randperm(700).split(50):
        loss = F.cross_entropy(scores(train_x[idx]), train_y[idx])
        loss.backward()
        with torch.no_grad():
            for p, v in zip(params, speed):
                v.mul_(momentum).add_(p.grad)
                p.sub_(lr * v)
                p.grad.zero_()
        total += loss.item() * len(idx)
    with torch.no_grad():
        acc = (scores(test_x).argmax(1) == test_y).float().mean()
    print(f"epoch {epoch}: loss {total / 700:.3f}, test accuracy {acc:.3f}")
