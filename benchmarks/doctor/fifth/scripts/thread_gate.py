import torch
from torch import nn

torch.manual_seed(42)


class Gate(nn.Module):
    def __init__(self, dim=16):
        super().__init__()
        self.query = nn.Linear(dim, dim)
        self.key = nn.Linear(dim, dim)
        self.value = nn.Linear(dim, dim)
        self.scale = dim**-0.5

    def forward(self, x, mask):
        scores = self.query(x) @ self.key(x).transpose(1, 2) * self.scale
        weights = scores.softmax(dim=-1)
        weights *= mask.unsqueeze(1)
        return weights @ self.value(x)


class Threads(nn.Module):
    def __init__(self, vocab=12, dim=16):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.gate = Gate(dim)
        self.out = nn.Linear(dim, 2)

    def forward(self, ids):
        mask = (ids != 0).float()
        h = self.gate(self.embed(ids), mask)
        return self.out(h.mean(1))


ids = torch.randint(0, 12, (600, 9))
y = ((ids == 4).sum(1) > 0).long()
model = Threads()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(3):
    for idx in torch.randperm(len(ids)).split(30):
        loss = nn.functional.cross_entropy(model(ids[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
