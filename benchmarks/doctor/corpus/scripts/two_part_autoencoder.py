# denoising autoencoder on low rank data; encoder and decoder get their own optimisers
import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(11)
basis = torch.randn(6, 40) / 6**0.5


def sample(n):
    clean = torch.randn(n, 6) @ basis
    return clean + 0.3 * torch.randn_like(clean), clean


encoder = nn.Sequential(nn.Linear(40, 32), nn.ReLU(), nn.Linear(32, 8))
decoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 40))
enc_opt = torch.optim.SGD(encoder.parameters(), lr=0.02, momentum=0.5)
dec_opt = torch.optim.SGD(decoder.parameters(), lr=0.3, momentum=0.9)

for it in range(200):
    noisy, clean = sample(64)
    recon = decoder(encoder(noisy))
    loss = F.mse_loss(recon, clean)
    dec_opt.zero_grad()
    loss.backward()
    enc_opt.step()
    dec_opt.step()
    if it % 40 == 0:
        print(f"iteration {it:3d}  reconstruction {loss.item():.4f}")

with torch.no_grad():
    noisy, clean = sample(256)
    print("fresh data:", F.mse_loss(decoder(encoder(noisy)), clean).item())
