import torch
import torch.nn as nn
import torch.nn.functional as F


class IntentModel(nn.Module):
    def __init__(self, vocab=40, width=32, classes=4, length=10):
        super().__init__()
        self.tok = nn.Embedding(vocab, width)
        self.pos = nn.Embedding(length, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(width, classes)

    def forward(self, tokens):  # (batch, length)
        x = self.tok(tokens) + self.pos(torch.arange(tokens.shape[1]))
        x = self.encoder(x)
        return self.head(x.mean(dim=1))


def commands(n):
    """The intent is given by which keyword comes first."""
    words = torch.randint(8, 40, (n, 10))
    intent = torch.randint(0, 4, (n,))
    place = torch.randint(0, 5, (n,))
    words[torch.arange(n), place] = intent
    words[torch.arange(n), place + 4] = torch.randint(0, 4, (n,))
    return words, intent


torch.manual_seed(83)
x, y = commands(640)
x_test, y_test = commands(200)
model = IntentModel()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    for idx in torch.randperm(640).split(32):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(x_test).argmax(1) == y_test).float().mean().item()
    model.train()
    print(f"epoch {epoch}: loss {loss.item():.3f}, test accuracy {acc:.3f}")
