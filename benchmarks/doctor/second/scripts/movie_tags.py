import torch
import torch.nn as nn
import torch.nn.functional as F

TAGS, GENRES = 200, 6


class TagModel(nn.Module):
    def __init__(self, dim=24):
        super().__init__()
        self.tags = nn.EmbeddingBag(TAGS, dim, mode="mean")
        self.norm = nn.LayerNorm(dim)
        self.hidden = nn.Linear(dim, 48)
        self.out = nn.Linear(48, GENRES)

    def forward(self, tags):
        return self.out(F.relu(self.hidden(self.norm(self.tags(tags)))))


def param_groups(model, lr, decay):
    table, decayed, plain = [], [], []
    for name, p in model.named_parameters():
        if name.startswith("tags."):
            table.append(p)
        elif p.ndim > 1:
            decayed.append(p)
        else:
            plain.append(p)
    return [dict(params=table, lr=5 * lr, weight_decay=0.0),
            dict(params=decayed, lr=lr, weight_decay=decay),
            dict(params=plain, lr=lr, weight_decay=0.0)]


def movies(n, owner):
    y = torch.randint(0, GENRES, (n,))
    weight = 0.3 + 3.0 * (owner[None, :] == y[:, None]).float()
    return torch.multinomial(weight, 10, replacement=True), y


torch.manual_seed(52)
owner = torch.randint(0, GENRES, (TAGS,))
tags, genre = movies(1500, owner)
test_tags, test_genre = movies(400, owner)
model = TagModel()
optimizer = torch.optim.AdamW(param_groups(model, 2e-3, 0.05))
for epoch in range(7):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(tags)).split(50):
        loss = F.cross_entropy(model(tags[idx]), genre[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        acc = (model(test_tags).argmax(1) == test_genre).float().mean()
    print(f"epoch {epoch}: {total / len(tags):.3f}, accuracy {acc:.3f}")
