import torch
import torch.nn as nn
import torch.nn.functional as F


class Generator(nn.Module):
    def __init__(self, z=8):
        super().__init__()
        self.fc = nn.Linear(z, 16 * 16)
        self.bn1 = nn.BatchNorm2d(16)
        self.up = nn.ConvTranspose2d(16, 8, 4, 2, 1)
        self.bn2 = nn.BatchNorm2d(8)
        self.out = nn.Conv2d(8, 1, 3, padding=1)

    def forward(self, z):
        h = F.relu(self.bn1(self.fc(z).view(-1, 16, 4, 4)))
        h = F.relu(self.bn2(self.up(h)))
        return torch.tanh(self.out(h))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 4, 2, 1)
        self.conv2 = nn.Conv2d(8, 16, 4, 2, 1)
        self.fc = nn.Linear(64, 1)

    def forward(self, x):
        h = F.leaky_relu(self.conv1(x), 0.2)
        h = F.leaky_relu(self.conv2(h), 0.2)
        return self.fc(h.flatten(1)).squeeze(1)


def stripes(n):
    row = torch.sign(torch.sin(torch.arange(8) * 1.57 + 0.7 + 3.14 * torch.randint(0, 2, (n, 1))))
    return (0.8 * row.view(n, 1, 1, 8).expand(n, 1, 8, 8) + 0.1 * torch.randn(n, 1, 8, 8)).clamp(-1, 1)


torch.manual_seed(108)
gen, dis = Generator(), Discriminator()
opt_g = torch.optim.Adam(gen.parameters(), lr=2e-3, betas=(0.5, 0.99))
opt_d = torch.optim.Adam(dis.parameters(), lr=1e-3, betas=(0.5, 0.99))
real_label, fake_label = torch.ones(32), torch.zeros(32)

for it in range(120):
    # discriminator: real and fake batches apart
    opt_d.zero_grad()
    loss_real = F.binary_cross_entropy_with_logits(dis(stripes(32)), real_label)
    loss_real.backward()
    with torch.no_grad():
        fake = gen(torch.randn(32, 8))
    loss_fake = F.binary_cross_entropy_with_logits(dis(fake), fake_label)
    loss_fake.backward()
    opt_d.step()
    # generator
    opt_g.zero_grad()
    loss_g = F.binary_cross_entropy_with_logits(dis(gen(torch.randn(32, 8))), real_label)
    loss_g.backward()
    opt_g.step()
    if it % 30 == 0:
        print(f"iter {it}: D {loss_real.item() + loss_fake.item():.3f} G {loss_g.item():.3f}")

gen.eval()
with torch.no_grad():
    sample = gen(torch.randn(100, 8))
print("column contrast of samples", sample.mean(2).abs().mean().item())
