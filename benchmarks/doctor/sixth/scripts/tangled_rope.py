import torch
from torch import nn


class Recall(nn.Module):
    """Read a sequence and say the class that its first element announced."""

    def __init__(self, hidden=48, classes=4):
        super().__init__()
        self.hidden = hidden
        self.cell = nn.RNNCell(classes, hidden)
        self.out = nn.Linear(hidden, classes)
        nn.init.normal_(self.cell.weight_hh, std=0.6)

    def forward(self, x):
        h = x.new_zeros(x.shape[0], self.hidden)
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h)
        return self.out(h)


def batch(n=16, length=40, classes=4):
    first = torch.randint(0, classes, (n,))
    rest = torch.randint(0, classes, (n, length - 1))
    seq = torch.cat([first[:, None], rest], 1)
    return nn.functional.one_hot(seq, classes).float(), first


def main():
    torch.manual_seed(6)
    model = Recall()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = nn.CrossEntropyLoss()
    for step in range(120):
        x, y = batch()
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            norm = sum(p.grad.norm() ** 2 for p in model.parameters()) ** 0.5
            print(f"step {step} loss {loss.item():.3f} gradient {norm.item():.1f}")


main()
