"""Embed synthetic faces so that pictures of one person lie together."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Triplets(Dataset):
    def __init__(self, people, n, seed):
        g = torch.Generator().manual_seed(seed)
        a = torch.randint(0, len(people), (n,), generator=g)
        b = (a + torch.randint(1, len(people), (n,), generator=g)) % len(people)
        noise = 0.8 * torch.randn(3, n, people.shape[1], generator=g)
        self.items = torch.stack([people[a], people[a], people[b]]) + noise

    def __len__(self):
        return self.items.shape[1]

    def __getitem__(self, i):
        return tuple(self.items[:, i] / 1.3)


def rate(model, data):
    anchor, positive, negative = (data.items[k] / 1.3 for k in range(3))
    with torch.no_grad():
        a, p, n = model(anchor), model(positive), model(negative)
    return ((a - p).norm(dim=1) < (a - n).norm(dim=1)).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(171)
    people = torch.randn(30, 24)
    train, test = Triplets(people, 600, 1), Triplets(people, 300, 2)
    model = nn.Sequential(nn.Linear(24, 48), nn.ReLU(), nn.Linear(48, 12))
    criterion = nn.TripletMarginLoss(margin=0.5)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(6):
        total = 0.0
        for a, p, n in DataLoader(train, batch_size=50, shuffle=True):
            optimizer.zero_grad()
            loss = criterion(model(a), model(p), model(n))
            loss.backward()
            optimizer.step()
            total += loss.item() / 12
        print(f"epoch {epoch}: loss {total:.4f}, correct order on test {rate(model, test):.3f}")
