"""How fast can the network memorise labels without meaning?"""
import torch
import torch.nn as nn

torch.manual_seed(180)
n, d, classes = 192, 20, 4


def mlp(width):
    return nn.Sequential(nn.Linear(d, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, classes))


x = torch.randn(n, d)
y = torch.randint(0, classes, (n,))  # vitruvius: allow shuffled_labels

net = mlp(256)
optimizer = torch.optim.Adam(net.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(30):
    right = 0
    for idx in torch.randperm(n).split(32):
        optimizer.zero_grad()
        out = net(x[idx])
        loss = criterion(out, y[idx])  # vitruvius: allow shuffled_labels
        loss.backward()
        optimizer.step()
        right += (out.argmax(1) == y[idx]).sum().item()
    if epoch % 5 == 0:
        print(f"epoch {epoch:2d} loss {loss.item():.3f} memorised {right / n:.2f}")
