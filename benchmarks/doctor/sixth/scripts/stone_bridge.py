import torch
import torch.nn as nn


class Oscillator(nn.Module):
    """Next value of a swinging bridge, from its last values."""

    def __init__(self, hidden=24):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h)


def swings(n, length=21):
    phase = torch.rand(n, 1) * 6.28
    speed = 0.3 + 0.4 * torch.rand(n, 1)
    t = torch.arange(length)
    return torch.sin(phase + speed * t).unsqueeze(-1)


def train(steps=200):
    torch.manual_seed(2)
    model = Oscillator()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.8, momentum=0.9)
    loss_fn = nn.MSELoss()
    history = []
    for step in range(steps):
        batch = swings(16)
        optimizer.zero_grad()
        loss = loss_fn(model(batch[:, :-1]), batch[:, 1:])
        loss.backward()
        optimizer.step()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.25)
        history.append(loss.item())
        if step % 40 == 0:
            print(f"{step:4d} {loss.item():.4f}")
    return sum(history[-10:]) / 10


if __name__ == "__main__":
    print("final", train())
