import torch
from torch import nn

torch.manual_seed(9)


class StairModel(nn.Module):
    def __init__(self, vocab=10, dim=32, length=8):
        super().__init__()
        self.tokens = nn.Embedding(vocab, dim)
        self.positions = nn.Parameter(torch.randn(1, length, dim) * 0.1)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(dim, 2)

    def forward(self, ids):
        x = self.tokens(ids)
        torch.add(x, self.positions[:, : ids.shape[1]])
        x = self.encoder(x)
        return self.head(x.mean(dim=1))


def rows(n):
    ids = torch.stack([torch.randperm(10)[:8] for _ in range(n)])
    high = ids.argmax(dim=1)
    low = ids.argmin(dim=1)
    return ids, (high > low).long()


train_ids, train_y = rows(1500)
test_ids, test_y = rows(400)

model = StairModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(5):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(train_ids)).split(50):
        optimizer.zero_grad()
        loss = criterion(model(train_ids[idx]), train_y[idx])
        loss.backward()
        optimizer.step()
        total += loss.item() * len(idx)
    model.eval()
    with torch.no_grad():
        acc = (model(test_ids).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch + 1} | loss {total / len(train_ids):.4f} | acc {acc:.3f}")
