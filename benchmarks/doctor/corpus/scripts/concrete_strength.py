import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def get_data(n, generator):
    mix = torch.randn(n, 5, generator=generator)
    strength = mix[:, 0] - 0.5 * mix[:, 1] * mix[:, 2] + 0.3 * mix[:, 3].abs()
    return mix, (strength - 0.24)[:, None]


def update(model, optimizer, loss, max_norm):
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    model.zero_grad()
    optimizer.step()


def train(model, loader, optimizer, epochs=8, max_norm=1.0):
    criterion = nn.SmoothL1Loss()
    history = []
    for _ in range(epochs):
        epoch_loss = 0.0
        for mix, strength in loader:
            loss = criterion(model(mix), strength)
            update(model, optimizer, loss, max_norm)
            epoch_loss += loss.item()
        history.append(epoch_loss / len(loader))
    return history


def main():
    torch.manual_seed(42)
    g = torch.Generator().manual_seed(42)
    train_set = TensorDataset(*get_data(512, g))
    valid_x, valid_y = get_data(128, g)
    model = nn.Sequential(nn.Linear(5, 64), nn.GELU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    history = train(model, DataLoader(train_set, batch_size=32, shuffle=True), optimizer)
    print("loss per epoch:", [round(h, 4) for h in history])
    with torch.no_grad():
        print("validation MAE:", (model(valid_x) - valid_y).abs().mean().item())


main()
