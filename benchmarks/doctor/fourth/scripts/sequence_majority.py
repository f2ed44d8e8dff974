import torch
import torch.nn as nn

torch.manual_seed(16)
T, B, V = 10, 32, 20


class Majority(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(V, 16)
        self.rnn = nn.GRU(16, 32)
        self.head = nn.Linear(32, 2)

    def forward(self, tokens):
        out, _ = self.rnn(self.emb(tokens))
        out = out.view(tokens.shape[1], tokens.shape[0], -1)
        return self.head(out.mean(dim=1))


def draw():
    tokens = torch.randint(0, V, (T, B))
    return tokens, (tokens < V // 2).float().mean(0).gt(0.5).long()


model = Majority()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
hits = 0
for step in range(1, 401):
    tokens, label = draw()
    logits = model(tokens)
    loss = nn.functional.cross_entropy(logits, label)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    hits += (logits.argmax(1) == label).sum().item()
    if step % 100 == 0:
        print(f"{step}: loss {loss.item():.3f} acc {hits / (100 * B):.3f}")
        hits = 0
