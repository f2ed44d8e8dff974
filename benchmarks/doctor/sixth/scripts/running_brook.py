import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset


class Brook(IterableDataset):
    def __init__(self, rows, seed):
        self.rows, self.generator = rows, torch.Generator().manual_seed(seed)

    def __iter__(self):
        for _ in range(self.rows):
            x = torch.randn(4, generator=self.generator)
            yield x, torch.stack([x[0] * x[1], x[2].sin()])


def main():
    torch.manual_seed(0)
    train = DataLoader(Brook(640, 0), batch_size=32)
    val = list(DataLoader(Brook(160, 1), batch_size=80))
    model = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 2))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    for epoch in range(10):
        model.train()
        for x, y in train:
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            held = sum(nn.functional.mse_loss(model(x), y).item() for x, y in val) / len(val)
        scheduler.step(held)
        print(f"epoch {epoch} loss {loss.item():.4f} val {held:.4f} lr {optimizer.param_groups[0]['lr']:.4f}")


main()
