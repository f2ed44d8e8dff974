import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(17)
players = 60
strength = torch.randn(players)
white = torch.randint(0, players, (6000,))
black = torch.randint(0, players, (6000,))
result = torch.bernoulli(torch.sigmoid(1.5 * (strength[white] - strength[black]) + 0.2))


class Rater(nn.Module):
    def __init__(self, n, d=8):
        super().__init__()
        self.table = nn.Embedding(n, d)
        self.score = nn.Sequential(nn.Linear(2 * d, 32), nn.Tanh(), nn.Linear(32, 1))

    def forward(self, a, b):
        return self.score(torch.cat([self.table(a), self.table(b)], dim=1)).squeeze(1)


model = Rater(players)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
history = {"logits": [], "result": []}
for epoch in range(4):
    for idx in torch.randperm(len(result)).split(60):
        logits = model(white[idx], black[idx])
        loss = F.binary_cross_entropy_with_logits(logits, result[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history["logits"].append(logits)
        history["result"].append(result[idx])
    scores = torch.cat(history["logits"])
    truth = torch.cat(history["result"])
    hit = ((scores > 0) == (truth > 0.5)).float().mean()
    print(f"epoch {epoch}: share right so far {hit:.3f}")
