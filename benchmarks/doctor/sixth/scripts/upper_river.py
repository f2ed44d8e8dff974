import torch
from torch import nn

torch.manual_seed(9)

level = torch.sin(torch.linspace(0, 120, 1200)) + 0.4 * torch.sin(torch.linspace(0, 411, 1200))
level = (level + 0.05 * torch.randn(1200)).view(2, 600, 1)
WINDOW = 15


class River(nn.Module):
    def __init__(self, hidden=16):
        super().__init__()
        self.rnn = nn.GRU(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)
        self.state = None

    def reset(self, rows):
        self.state = torch.zeros(1, rows, self.rnn.hidden_size)

    def forward(self, x):
        y, self.state = self.rnn(x, self.state)
        return self.out(y)


model = River()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(5):
    model.reset(2)
    total = 0.0
    for i in range(0, 585, WINDOW):
        x, y = level[:, i : i + WINDOW], level[:, i + 1 : i + WINDOW + 1]
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch} loss {total / 39:.4f}")
