"""One trunk, two tasks: classify the object and regress its angle."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.kind = nn.Linear(64, 3)
        self.angle = nn.Linear(64, 2)

    def forward(self, x):
        h = self.trunk(x)
        return self.kind(h), self.angle(h)


g = torch.Generator().manual_seed(3)
kind_code, angle_code = torch.randn(3, 12, generator=g), torch.randn(2, 12, generator=g)


def objects(n):
    kind, theta = torch.randint(0, 3, (n,)), 6.2832 * torch.rand(n)
    pose = torch.stack([theta.cos(), theta.sin()], 1)
    return (kind_code[kind] + pose @ angle_code + 0.3 * torch.randn(n, 12)) / 1.4, kind, pose


torch.manual_seed(140)
net = MultiTask()
optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
for step in range(150):
    x, kind, pose = objects(64)
    optimizer.zero_grad()
    logits, predicted = net(x)
    loss_kind = F.cross_entropy(logits, kind)
    loss_pose = F.mse_loss(predicted, pose)
    loss_kind.backward(retain_graph=True)
    loss_pose.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"{step:3d} kind {loss_kind.item():.3f} pose {loss_pose.item():.3f}")
x, kind, pose = objects(300)
with torch.no_grad():
    logits, predicted = net(x)
print("accuracy", (logits.argmax(1) == kind).float().mean().item(), "pose error", F.mse_loss(predicted, pose).item())
