import torch
import torch.nn as nn
import torch.nn.functional as F


def fgsm(model, x, y, eps):
    was_training = model.training
    model.eval()
    x = x.clone().requires_grad_(True)
    (grad,) = torch.autograd.grad(F.cross_entropy(model(x), y), x)
    model.train(was_training)
    return (x + eps * grad.sign()).detach()


def blobs(n):
    centres = torch.randn(5, 20, generator=torch.Generator().manual_seed(8))
    y = torch.randint(0, 5, (n,))
    return (centres[y] + 0.8 * torch.randn(n, 20)) / 1.3, y


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


torch.manual_seed(158)
model = nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
x_test, y_test = blobs(300)
for step in range(150):
    model.train()
    x, y = blobs(64)
    x_adv = fgsm(model, x, y, eps=0.2)
    loss = 0.5 * F.cross_entropy(model(x), y) + 0.5 * F.cross_entropy(model(x_adv), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"step {step} loss {loss.item():.3f} clean {accuracy(model, x_test, y_test):.2f}")
attacked = fgsm(model, x_test, y_test, 0.2)
print("under attack", accuracy(model, attacked, y_test))
