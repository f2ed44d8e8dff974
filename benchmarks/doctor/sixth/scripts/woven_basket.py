"""Mark, in a band of woven threads, every place where the pattern turns."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Marker(nn.Module):
    def __init__(self, channels=16, kinds=3):
        super().__init__()
        self.conv1 = nn.Conv1d(1, channels, 5, padding=2)
        self.conv2 = nn.Conv1d(channels, channels, 3, padding=1)
        self.norm = nn.LayerNorm(channels)
        self.head = nn.Linear(channels, kinds)

    def forward(self, band):
        x = F.relu(self.conv1(band[:, None]))
        x = F.relu(self.conv2(x))
        b, c, t = x.shape
        steps = x.view(b, t, c)
        return self.head(self.norm(steps))


def bands(n, length=24):
    x = torch.cumsum(torch.randn(n, length), 1) * 0.7
    change = F.pad(x[:, 1:] - x[:, :-1], (1, 0))
    return x, (change > 0.25).long() + 2 * (change < -0.25).long()


def main():
    torch.manual_seed(3)
    model = Marker()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    x, y = bands(512)
    x_val, y_val = bands(128)
    for epoch in range(6):
        model.train()
        for rows in torch.randperm(512).split(32):
            loss = F.cross_entropy(model(x[rows]).flatten(0, 1), y[rows].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            accuracy = (model(x_val).argmax(-1) == y_val).float().mean().item()
        print(f"epoch {epoch} loss {loss.item():.4f} accuracy {accuracy:.3f}")


main()
