import torch
import torch.nn as nn
import torch.nn.functional as F


class CountLM(nn.Module):
    def __init__(self, vocab=30, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, ids, labels=None):
        logits = self.out(self.gru(self.emb(ids))[0])
        if labels is None:
            return logits
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())


def batches(text, size):
    for idx in torch.randperm(len(text)).split(size):
        yield {"ids": text[idx], "labels": text[idx]}


if __name__ == "__main__":
    torch.manual_seed(3)
    start, stride = torch.randint(0, 30, (1000, 1)), torch.randint(1, 5, (1000, 1))
    text = (start + stride * torch.arange(17)) % 30
    model = CountLM()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    for epoch in range(4):
        for batch in batches(text[:900], 25):
            loss = model(**batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with torch.no_grad():
            held = text[900:]
            share = (model(held)[:, :-1].argmax(-1) == held[:, 1:]).float().mean()
        print(f"epoch {epoch}: {loss.item():.4f} next right {share:.3f}")
