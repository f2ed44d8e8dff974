import torch

torch.manual_seed(0)
x = torch.randn(1000, 5)
w_true = torch.tensor([1.0, -2.0, 0.5, 0.0, 3.0])
y = x @ w_true + 0.7 + 0.1 * torch.randn(1000)

w = torch.zeros(5, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
speed = [torch.zeros_like(w), torch.zeros_like(b)]
rate, momentum = 0.05, 0.8

for epoch in range(10):
    total = 0.0
    for idx in torch.randperm(1000).split(50):
        loss = ((x[idx] @ w + b - y[idx]) ** 2).mean()
        loss.backward()
        with torch.no_grad():
            for v, p in zip(speed, (w, b)):
                v.mul_(momentum).add_(p.grad)
                p -= rate * v
                p.grad = None
        total += loss.item()
    print(f"epoch {epoch}: {total / 20:.4f}")
print("weights", [round(v, 2) for v in w.tolist()], "bias", round(b.item(), 2))
with torch.no_grad():
    fresh = torch.randn(200, 5)
    error = (fresh @ w + b - (fresh @ w_true + 0.7)).abs().max()
print(f"largest error on fresh rows {error:.4f}")
if error > 0.5:
    raise SystemExit("the fit is poor")
