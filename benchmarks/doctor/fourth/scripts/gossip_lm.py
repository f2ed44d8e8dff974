import torch
import torch.nn as nn


class Gossip(nn.Module):
    def __init__(self, vocab=26, dim=24, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, hidden, num_layers=1, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, vocab)

    def forward(self, ids):
        out, _ = self.rnn(self.emb(ids))
        return self.fc(out)


class LMTask:
    def __init__(self, model):
        self.model = model
        self.opt = torch.optim.Adam(model.parameters(), lr=3e-3)

    def loss(self, ids):
        logits = self.model(ids[:, :-1])
        return nn.functional.cross_entropy(logits.transpose(1, 2), ids[:, 1:])

    def run(self, corpus, epochs):
        for epoch in range(epochs):
            total = 0.0
            parts = torch.randperm(len(corpus)).split(40)
            for idx in parts:
                loss = self.loss(corpus[idx])
                self.opt.zero_grad()
                loss.backward()
                self.opt.step()
                total += loss.item()
            print(f"epoch {epoch}: {total / len(parts):.4f}")


torch.manual_seed(0)
LMTask(Gossip()).run(torch.randint(0, 26, (1200, 16)), epochs=5)
