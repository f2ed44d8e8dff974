import torch
from torch import nn

torch.manual_seed(12)


class MelodyNet(nn.Module):
    def __init__(self, features=5, hidden=32, classes=3):
        super().__init__()
        self.gru = nn.GRU(features, hidden, num_layers=1)
        self.head = nn.Sequential(nn.LayerNorm(hidden), nn.Linear(hidden, classes))

    def forward(self, x):
        states, _ = self.gru(x)
        return self.head(states[:, -1])


def melodies(n, steps=12):
    x = torch.randn(n, steps, 5)
    drift = x[:, :, 0].sum(1)
    y = torch.bucketize(drift, torch.tensor([-1.5, 1.5]))
    return x, y


def train_one_epoch(model, data, optimizer, batch_size=40):
    x, y = data
    model.train()
    losses = []
    for idx in torch.randperm(len(x)).split(batch_size):
        loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


@torch.no_grad()
def accuracy(model, data):
    model.eval()
    x, y = data
    return (model(x).argmax(dim=1) == y).float().mean().item()


train, test = melodies(1200), melodies(400)
net = MelodyNet()
opt = torch.optim.Adam(net.parameters(), lr=5e-3)
for epoch in range(6):
    mean_loss = train_one_epoch(net, train, opt)
    print(f"{epoch}: {mean_loss:.4f} acc {accuracy(net, test):.3f}")
