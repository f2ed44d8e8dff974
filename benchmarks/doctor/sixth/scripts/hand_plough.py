import torch

torch.manual_seed(0)
x = torch.linspace(-3.1, 3.1, 400).unsqueeze(1)
y = torch.sin(x)

w1 = torch.randn(1, 24).requires_grad_()
b1 = torch.zeros(24, requires_grad=True)
w2 = (torch.randn(24, 1) / 24**0.5).requires_grad_()
b2 = torch.zeros(1, requires_grad=True)
weights = [w1, b1, w2, b2]

lr = 0.05
for t in range(2500):
    rows = torch.randint(0, 400, (50,))
    prediction = torch.tanh(x[rows] @ w1 + b1) @ w2 + b2
    loss = (prediction - y[rows]).pow(2).mean()
    if t % 250 == 0:
        print(t, loss.item())
    loss.backward()
    with torch.no_grad():
        for w in weights:
            w -= lr * w.grad
            w.grad = None
