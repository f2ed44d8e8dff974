import torch
from torch import nn

torch.manual_seed(53)


class Drums(nn.Module):
    def __init__(self, features=4, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden)
        self.head = nn.Linear(hidden, 3)

    def forward(self, beats):
        states, _ = self.lstm(beats)
        return self.head(states[-1])


def bars(n, steps=12):
    beats = torch.randn(steps, n, 4)
    strongest = beats[:, :, :3].sum(0).argmax(1)
    return beats, strongest


beats, labels = bars(1200)
test_beats, test_labels = bars(300)
model = Drums()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    for idx in torch.randperm(1200).split(40):
        loss = nn.functional.cross_entropy(model(beats[:, idx]), labels[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(test_beats).argmax(1) == test_labels).float().mean()
    print(f"epoch {epoch}: loss {loss.item():.3f} acc {acc:.3f}")
