import torch
import torch.nn as nn

torch.manual_seed(144)

# one long series; several rows are read in parallel
t = torch.arange(2400).float()
series = torch.sin(0.15 * t) * torch.cos(0.021 * t) + 0.05 * torch.randn(2400)
series = series / series.std()
train, test = series[:2000], series[2000:]


class Stateful(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x, state=None):
        h, state = self.lstm(x, state)
        return self.out(h), state


def chunks(rows, size):
    for s in range(0, rows.shape[1] - 1 - size, size):
        yield rows[:, s : s + size, None], rows[:, s + 1 : s + size + 1, None]


model = Stateful()
loss_fn = nn.MSELoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
rows = train.view(10, 200)
for epoch in range(12):
    state, total, count = None, 0.0, 0
    for x, y in chunks(rows, 25):  # time order matters: the state is carried over
        if state is not None:
            state = tuple(s.detach() for s in state)
        out, state = model(x, state)
        loss = loss_fn(out, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total, count = total + loss.item(), count + 1
    if epoch % 3 == 0:
        print(f"epoch {epoch:2d} mse {total / count:.4f}")
with torch.no_grad():
    out, _ = model(test[None, :-1, None])
    print("test mse", loss_fn(out, test[None, 1:, None]).item())
