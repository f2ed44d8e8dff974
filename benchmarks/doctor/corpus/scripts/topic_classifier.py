"""Classify bags of words into four topics."""
import torch
import torch.nn.functional as F
from torch import nn


class TopicModel(nn.Module):
    def __init__(self, vocab: int, classes: int, hidden: int = 48):
        super().__init__()
        self.hidden = nn.Linear(vocab, hidden)
        self.drop = nn.Dropout(0.2)
        self.out = nn.Linear(hidden, classes)

    def forward(self, counts: torch.Tensor) -> torch.Tensor:
        h = self.drop(F.relu(self.hidden(counts)))
        return F.log_softmax(self.out(h), dim=1)


def documents(n: int, vocab: int = 50) -> tuple[torch.Tensor, torch.Tensor]:
    g = torch.Generator().manual_seed(0)
    rates = 0.3 + torch.rand(4, vocab, generator=g) ** 3 * 2
    topic = torch.randint(0, 4, (n,))
    counts = torch.poisson(rates[topic])
    return (counts - 0.8) / 1.1, topic


def main() -> None:
    torch.manual_seed(52)
    x, y = documents(600)
    x_val, y_val = documents(150)
    model = TopicModel(50, 4)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(6):
        model.train()
        total = 0.0
        for idx in torch.randperm(600).split(40):
            optimizer.zero_grad()
            loss = criterion(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
            total += loss.item() / 15
        model.eval()
        with torch.no_grad():
            acc = (model(x_val).argmax(1) == y_val).float().mean().item()
        print(f"epoch {epoch} loss {total:.3f} val {acc:.2f}")


main()
