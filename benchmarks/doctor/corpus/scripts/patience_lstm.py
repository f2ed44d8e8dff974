"""LSTM classifier with early stopping."""
import copy

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LSTMClassifier(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(2, hidden, num_layers=2, dropout=0.2, batch_first=True)
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(hidden, 2))

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1])


def loops(n, steps=16):
    """does the path turn left or right?"""
    way = torch.randint(0, 2, (n,))
    angle = 6.28 * torch.rand(n, 1) + (2 * way[:, None] - 1) * 0.3 * torch.arange(steps)
    return torch.stack([angle.cos(), angle.sin()], -1) + 0.3 * torch.randn(n, steps, 2), way


def run_epoch(model, loader, criterion, optimizer=None):
    training = optimizer is not None
    model.train(training)
    total = 0.0
    with torch.set_grad_enabled(training):
        for x, y in loader:
            loss = criterion(model(x), y)
            if training:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            total += loss.item() * len(y)
    return total / len(loader.dataset)


if __name__ == "__main__":
    torch.manual_seed(130)
    train = DataLoader(TensorDataset(*loops(400)), batch_size=40, shuffle=True)
    valid = DataLoader(TensorDataset(*loops(150)), batch_size=150)
    model, criterion = LSTMClassifier(), nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    best, best_state, bad = float("inf"), None, 0
    for epoch in range(12):
        a = run_epoch(model, train, criterion, optimizer)
        b = run_epoch(model, valid, criterion)
        print(f"epoch {epoch:2d} train {a:.3f} valid {b:.3f}")
        if b < best:
            best, best_state, bad = b, copy.deepcopy(model.state_dict()), 0
        else:
            bad += 1
            if bad == 2:
                break
    model.load_state_dict(best_state)
    print("best validation loss", round(best, 4))
