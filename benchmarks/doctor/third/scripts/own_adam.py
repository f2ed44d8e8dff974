"""A hand-written optimiser."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MyAdamW:
    def __init__(self, params, lr=2e-3, betas=(0.9, 0.99), eps=1e-8, decay=0.01):
        self.params = list(params)
        self.lr, self.betas, self.eps, self.decay = lr, betas, eps, decay
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]
        self.t = 0

    def zero_grad(self):
        for p in self.params:
            p.grad = None

    @torch.no_grad()
    def step(self):
        self.t += 1
        b1, b2 = self.betas
        for p, m, v in zip(self.params, self.m, self.v):
            if p.grad is None:
                continue
            m.mul_(b1).add_(p.grad, alpha=1 - b1)
            v.mul_(b2).addcmul_(p.grad, p.grad, value=1 - b2)
            m_hat = m / (1 - b1 ** self.t)
            v_hat = v / (1 - b2 ** self.t)
            p.mul_(1 - self.lr * self.decay)
            p -= self.lr * m_hat / (v_hat.sqrt() + self.eps)


torch.manual_seed(346)
centres = torch.randn(5, 12)
model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 5))
optimizer = MyAdamW(model.parameters())
for step in range(150):
    y = torch.randint(0, 5, (48,))
    x = centres[y] + 0.8 * torch.randn(48, 12)
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, f"{loss.item():.4f}")
