"""Which passenger gets off next? A small set transformer."""
import torch
from torch import nn


class TramModel(nn.Module):
    def __init__(self, width=24, heads=4):
        super().__init__()
        self.embed = nn.Linear(4, width)
        self.attention = nn.MultiheadAttention(width, heads)
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 1)

    def forward(self, people):
        x = self.embed(people)
        mixed, _ = self.attention(x, x, x, need_weights=False)
        return self.head(self.norm(x + mixed)).squeeze(-1)


def trams(n, seats=9):
    people = torch.randn(n, seats, 4)
    distance = (people - people.mean(1, keepdim=True)).pow(2).sum(-1)
    return people, distance.argmax(1)


def evaluate(model, people, who):
    model.eval()
    with torch.no_grad():
        scores = model(people)
    return (scores.argmax(1) == who).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(1)
    model = TramModel()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    people, who = trams(640)
    test_people, test_who = trams(200)
    for epoch in range(8):
        model.train()
        for rows in torch.randperm(len(people)).split(32):
            loss = nn.functional.cross_entropy(model(people[rows]), who[rows])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(f"epoch {epoch} loss {loss.item():.3f} accuracy {evaluate(model, test_people, test_who):.3f}")
