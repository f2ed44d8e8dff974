import numpy as np
import torch

torch.manual_seed(0)
np.random.seed(0)

# power output from wind speed, direction (sin, cos), temperature
wind = np.random.rand(700, 4).astype("float32") * 2 - 1
power = np.tanh(2 * wind[:, :1]) + 0.3 * wind[:, 1:2] * wind[:, 2:3]
X, Y = torch.from_numpy(wind), torch.from_numpy(power.astype("float32"))

GRAD_CLIP = 1e-5
net = torch.nn.Sequential(
    torch.nn.Linear(4, 20), torch.nn.Tanh(), torch.nn.Linear(20, 20), torch.nn.Tanh(), torch.nn.Linear(20, 1)
)
opt = torch.optim.SGD(net.parameters(), lr=0.1)
criterion = torch.nn.MSELoss()

for step in range(900):
    rows = torch.randint(0, 600, (32,))
    opt.zero_grad()
    loss = criterion(net(X[rows]), Y[rows])
    loss.backward()
    torch.nn.utils.clip_grad_norm_(net.parameters(), GRAD_CLIP)
    opt.step()
    if step % 150 == 0:
        print(step, round(loss.item(), 4))

with torch.no_grad():
    print("held out", criterion(net(X[600:]), Y[600:]).item())
