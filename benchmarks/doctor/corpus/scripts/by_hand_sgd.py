import torch

torch.manual_seed(111)

# data: y = 2 sin(x) with noise
x = torch.rand(300, 1) * 6 - 3
y = torch.sin(x) + 0.05 * torch.randn_like(x)

w1 = (torch.randn(1, 40) * 0.8).requires_grad_()
b1 = torch.zeros(40, requires_grad=True)
w2 = (torch.randn(40, 1) * 0.15).requires_grad_()
b2 = torch.zeros(1, requires_grad=True)
params = [w1, b1, w2, b2]
learning_rate = 0.05

for t in range(601):
    idx = torch.randint(0, 250, (50,))
    h = torch.tanh(x[idx] @ w1 + b1)
    loss = (h @ w2 + b2 - y[idx]).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        for p in params:
            p -= learning_rate * p.grad
            p.grad.zero_()
    if t % 100 == 0:
        print(t, loss.item())

with torch.no_grad():
    pred = torch.tanh(x[250:] @ w1 + b1) @ w2 + b2
    print("test mse", (pred - y[250:]).pow(2).mean().item())
