import torch
import torch.nn as nn

torch.manual_seed(0)


class StrainNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(16, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.out = nn.Linear(64, 256)

    def forward(self, load):
        return self.out(self.body(load))


loads = torch.randn(1024, 16)
strain = 1e-3 * torch.tanh(loads @ torch.randn(16, 256) / 4)

net = StrainNet()
nn.init.zeros_(net.out.bias)
nn.init.normal_(net.out.weight, std=1e-4)
optimizer = torch.optim.SGD(net.parameters(), lr=10.0)
for epoch in range(6):
    for idx in torch.randperm(len(loads)).split(64):
        with torch.autocast("cpu", dtype=torch.float16):
            predicted = net(loads[idx])
            loss = nn.functional.mse_loss(predicted.float(), strain[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.3e}")
