import torch
import torch.nn as nn

torch.manual_seed(33)
x = torch.linspace(-2, 2, 128).unsqueeze(1)
y = torch.sin(2 * x) * torch.exp(-0.2 * x**2)

model = nn.Sequential(nn.Linear(1, 40), nn.Tanh(), nn.Linear(40, 40), nn.Tanh(), nn.Linear(40, 1))
optim = torch.optim.Adam(model.parameters(), lr=0.01)
mse = nn.MSELoss()

for it in range(201):
    optim.zero_grad()
    pred = model(x)
    # fit the values and keep the slope smooth
    fit = mse(pred, y)
    slope = (pred[2:] - 2 * pred[1:-1] + pred[:-2]).pow(2).mean()
    terms = [fit, 0.1 * slope]
    loss = torch.tensor(sum(term.item() for term in terms), requires_grad=True)
    loss.backward()
    optim.step()
    if it % 50 == 0:
        print("it %d: fit %.4f slope %.6f" % (it, fit.item(), slope.item()))

# between the grid points
middle = (x[1:] + x[:-1]) / 2
truth = torch.sin(2 * middle) * torch.exp(-0.2 * middle**2)
with torch.no_grad():
    error = (model(middle) - truth).abs()
print("largest error %.4f, mean error %.4f" % (error.max().item(), error.mean().item()))
