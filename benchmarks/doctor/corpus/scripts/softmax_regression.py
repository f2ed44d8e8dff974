import torch
import torch.nn.functional as F

torch.manual_seed(177)
directions = torch.randn(8, 4)


def sample(n):
    x = torch.randn(n, 8)
    return x, (x @ directions + 0.3 * torch.randn(n, 4)).argmax(1)


x, y = sample(800)
x_test, y_test = sample(300)
linear = torch.nn.Linear(8, 4)
torch.nn.init.zeros_(linear.weight)
torch.nn.init.zeros_(linear.bias)
optimizer = torch.optim.SGD(linear.parameters(), lr=0.5)

for it in range(120):
    loss = F.cross_entropy(linear(x), y)  # full batch
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if it % 20 == 0:
        print(f"{it:4d} {loss.item():.4f}")
with torch.no_grad():
    print("test accuracy", (linear(x_test).argmax(1) == y_test).float().mean().item())
