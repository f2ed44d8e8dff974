import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(23)


class LedgerRNN(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.hidden_size = hidden
        self.rnn = nn.LSTM(2, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def initial(self, batch):
        zeros = torch.zeros(1, batch, self.hidden_size)
        return zeros, zeros.clone()

    def forward(self, x, state):
        h, state = self.rnn(x, state)
        return self.out(h[:, -1]).squeeze(1), state


def accounts(n, steps=10):
    amounts = torch.randn(n, steps)
    kind = (torch.rand(n, steps) > 0.5).float()
    balance = (amounts * kind).sum(1) / 3
    return torch.stack([amounts, kind], dim=2), balance


x, y = accounts(1280)
loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True, drop_last=True)
x_test, y_test = accounts(256)

model = LedgerRNN()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
criterion = nn.MSELoss()

for epoch in range(6):
    model.train()
    state = model.initial(32)
    total = 0.0
    for xb, yb in loader:
        pred, state = model(xb, state)
        loss = criterion(pred, yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        state = tuple(s.detach() for s in state)
        total += loss.item()
    model.eval()
    with torch.no_grad():
        test_loss = criterion(model(x_test, model.initial(len(x_test)))[0], y_test)
    print(f"epoch {epoch}: train {total / len(loader):.4f} test {test_loss:.4f}")
