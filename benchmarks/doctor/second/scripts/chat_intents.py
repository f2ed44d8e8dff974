"""Intents of chat messages; two special tokens are added to the vocabulary."""
import torch
import torch.nn as nn


class IntentNet(nn.Module):
    def __init__(self, vocab, dim=20, intents=5):
        super().__init__()
        self.embedding = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, 32, batch_first=True)
        self.out = nn.Linear(32, intents)

    def forward(self, tokens):
        _, (h, _) = self.lstm(self.embedding(tokens))
        return self.out(h[-1])

    def resize(self, extra):
        old = self.embedding
        self.embedding = nn.Embedding(old.num_embeddings + extra, old.embedding_dim)
        with torch.no_grad():
            self.embedding.weight[: old.num_embeddings] = old.weight


VOCAB, START, END = 60, 60, 61


def messages(n, weights):
    y = torch.randint(0, 5, (n,))
    body = torch.multinomial(weights[y], 8, replacement=True)
    start, end = torch.full((n, 1), START), torch.full((n, 1), END)
    return torch.cat([start, body, end], dim=1), y


torch.manual_seed(2126)
weights = torch.rand(5, VOCAB) ** 5
model = IntentNet(VOCAB)
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
model.resize(extra=2)
tokens, y = messages(700, weights)
for epoch in range(6):
    model.train()
    correct = 0
    for idx in torch.randperm(700).split(50):
        scores = model(tokens[idx])
        loss = nn.functional.cross_entropy(scores, y[idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        correct += (scores.argmax(1) == y[idx]).sum().item()
    print(f"epoch {epoch} loss {loss.item():.3f} train accuracy {correct / 700:.3f}")
model.eval()
tokens, y = messages(200, weights)
with torch.no_grad():
    print("test accuracy", (model(tokens).argmax(1) == y).float().mean().item())
