import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


def plant(n):
    pressure = 101325 + 900 * torch.randn(n)
    flow = 52000 + 4000 * torch.randn(n)
    heat = 380 + 12 * torch.randn(n)
    fault = ((pressure - 101325) / 900 + (flow - 52000) / 4000 - (heat - 380) / 12 > 0).long()
    return torch.stack([pressure, flow, heat], dim=1), fault


class Monitor(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(3, 32)
        self.fc2 = nn.Linear(32, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def main():
    torch.manual_seed(0)
    x, y = plant(2000)
    loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
    model = Monitor()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(5):
        total = 0.0
        for xb, yb in loader:
            loss = nn.functional.cross_entropy(model(xb), yb)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch}: {total / len(loader):.3f}")


if __name__ == "__main__":
    main()
