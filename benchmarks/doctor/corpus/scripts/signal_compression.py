import torch
import torch.nn as nn

torch.manual_seed(106)
mixing = torch.randn(4, 20) / 2


def signals(n):
    return torch.tanh(torch.randn(n, 4) @ mixing)


enc = nn.Sequential(nn.Linear(20, 40), nn.ELU(), nn.Linear(40, 4))
dec = nn.Sequential(nn.Linear(4, 40), nn.ELU(), nn.Linear(40, 20))
opt_enc = torch.optim.Adam(enc.parameters(), lr=2e-3)
opt_dec = torch.optim.SGD(dec.parameters(), lr=0.1, momentum=0.9)
mse = nn.MSELoss()

for step in range(300):
    x = signals(64)
    loss = mse(dec(enc(x)), x)
    opt_enc.zero_grad()
    opt_dec.zero_grad()
    loss.backward()
    opt_enc.step()
    opt_dec.step()
    if step % 60 == 0:
        print(f"step {step:3d}: {loss.item():.4f}")

with torch.no_grad():
    x = signals(500)
    print("reconstruction error on new signals", mse(dec(enc(x)), x).item())
