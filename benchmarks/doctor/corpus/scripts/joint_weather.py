import torch
from torch import nn


class JointWeather(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(9, 48), nn.Tanh())
        self.heads = nn.ModuleDict({"rain": nn.Linear(48, 1), "temperature": nn.Linear(48, 1)})
        self.log_sigma = nn.ParameterDict({k: nn.Parameter(torch.zeros(())) for k in self.heads})

    def forward(self, x):
        h = self.body(x)
        return {k: head(h) for k, head in self.heads.items()}


def weather(n):
    x = torch.randn(n, 9)
    rain = (x[:, :1] + x[:, 1:2] ** 2 > 1).float()
    temperature = 0.7 * x[:, 2:3] - 0.5 * x[:, 3:4] + 0.1 * torch.randn(n, 1)
    return x, {"rain": rain, "temperature": temperature}


bce, mse = nn.BCEWithLogitsLoss(), nn.MSELoss()


def losses(out, target):
    return {"rain": bce(out["rain"], target["rain"]), "temperature": mse(out["temperature"], target["temperature"])}


torch.manual_seed(141)
model = JointWeather()
opt = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(250):
    x, target = weather(64)
    parts = losses(model(x), target)
    loss = sum(torch.exp(-2 * s) * parts[k] + s for k, s in model.log_sigma.items())
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 50 == 0:
        print(step, {k: round(v.item(), 3) for k, v in parts.items()})
x, target = weather(500)
with torch.no_grad():
    print("test", {k: round(v.item(), 3) for k, v in losses(model(x), target).items()})
