import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(42)


def make(width):
    return nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))


def fit(model, x, loss_fn, epochs):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        for idx in torch.randperm(len(x)).split(50):
            loss = loss_fn(model(x[idx]), idx)
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"  epoch {epoch}: {loss.item():.4f}")


def accuracy(model, x, y):
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


d = load_digits()
x, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
x_tr, y_tr, x_te, y_te = x[:1400], y[:1400], x[1400:], y[1400:]
teacher, student, T = make(128), make(16), 2.0
print("teacher")
fit(teacher, x_tr, lambda out, idx: F.cross_entropy(out, y_tr[idx]), 4)
teacher.requires_grad_(False)
soft = F.log_softmax(teacher(x_tr) / T, dim=1)


def distil(out, idx):
    kl = F.kl_div(F.log_softmax(out / T, dim=1), soft[idx], reduction="batchmean", log_target=True)
    return T * T * kl + 0.1 * F.cross_entropy(out, y_tr[idx])


print("student")
fit(student, x_tr, distil, 6)
print(f"teacher {accuracy(teacher, x_te, y_te):.3f} student {accuracy(student, x_te, y_te):.3f}")
