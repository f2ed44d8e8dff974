import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(43)


class Encoder(nn.Module):
    def __init__(self, vocab=14, dim=32):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.place = nn.Parameter(0.02 * torch.randn(1, 10, dim))
        layer = nn.TransformerEncoderLayer(dim, 2, 64, dropout=0.1, batch_first=True, norm_first=True)
        self.blocks = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 2)

    def forward(self, ids):
        return self.head(self.blocks(self.embed(ids) + self.place).mean(1))


def sequences(n):
    ids = torch.randint(0, 14, (n, 10))
    return ids, ((ids == 5).sum(1) > (ids == 9).sum(1)).long()


config = {"lr": 1e-7, "weight_decay": 0.01, "batch_size": 40, "epochs": 4}
x, y = sequences(1000)
xv, yv = sequences(300)
model = Encoder()
optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"], weight_decay=config["weight_decay"])
for epoch in range(config["epochs"]):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x)).split(config["batch_size"]):
        loss = F.cross_entropy(model(x[idx]), y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        acc = (model(xv).argmax(1) == yv).float().mean()
    print(f"epoch {epoch}: loss {total / 25:.4f} acc {acc:.3f}")
