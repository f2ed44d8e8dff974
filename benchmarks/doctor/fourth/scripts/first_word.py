import torch
import torch.nn as nn


class FirstWord(nn.Module):
    def __init__(self, vocab=15, dim=32, length=10):
        super().__init__()
        self.tok = nn.Embedding(vocab, dim)
        self.pos = nn.Embedding(length, dim)
        self.att = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)

    def embed(self, ids):
        h = self.tok(ids)
        place = self.pos(torch.arange(ids.shape[1]))
        place = place.unsqueeze(0).expand_as(h)
        return h

    def forward(self, ids):
        h = self.embed(ids)
        h = self.norm(h + self.att(h, h, h, need_weights=False)[0])
        return self.head(h.mean(1))


def main():
    torch.manual_seed(0)
    ids = torch.randint(0, 15, (3000, 10))
    goal = ids[:, 0]
    model = FirstWord()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(4):
        hits = 0
        for idx in torch.randperm(len(ids)).split(50):
            logits = model(ids[idx])
            loss = nn.functional.cross_entropy(logits, goal[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            hits += (logits.argmax(1) == goal[idx]).sum().item()
        print(f"epoch {epoch}: loss {loss.item():.4f} right {hits / len(ids):.3f}")


main()
