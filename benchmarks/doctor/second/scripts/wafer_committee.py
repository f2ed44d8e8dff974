import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(91)


def wafers(n):
    x = torch.randn(n, 10)
    y = (x[:, 0] * x[:, 1] > 0).long() + 2 * (x[:, 2] + 0.5 * x[:, 3] > 0).long()
    return x, y


def make_net():
    return nn.Sequential(nn.Linear(10, 96), nn.ReLU(), nn.Dropout(0.2),
                         nn.Linear(96, 96), nn.ReLU(), nn.Dropout(0.2), nn.Linear(96, 4))


def sampled_probabilities(net, x, times=25):
    """average over random sub-networks"""
    net.eval()
    for m in net.modules():
        if isinstance(m, nn.Dropout):
            m.train()  # vitruvius: allow train_mode_in_eval
    with torch.no_grad():
        draws = [net(x).softmax(1) for _ in range(times)]  # vitruvius: allow train_mode_in_eval
    net.eval()
    return torch.stack(draws)


x, y = wafers(1500)
xt, yt = wafers(400)
net = make_net()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for epoch in range(8):
    net.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(60):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    print(f"epoch {epoch}: {total / len(x):.3f}")

draws = sampled_probabilities(net, xt)
mean = draws.mean(0)
entropy = -(mean * mean.clamp_min(1e-9).log()).sum(1)
right = mean.argmax(1) == yt
print(f"accuracy {right.float().mean():.3f}")
print(f"entropy of right answers {entropy[right].mean():.3f}, of wrong ones {entropy[~right].mean():.3f}")
