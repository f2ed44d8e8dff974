import torch
import torch.nn as nn
import torch.nn.functional as F


class Tied(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        nn.init.normal_(self.emb.weight, std=0.1)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.bias = nn.Parameter(torch.zeros(vocab))

    def forward(self, ids):
        h, _ = self.gru(self.emb(ids))
        return F.linear(h, self.emb.weight, self.bias)


def grammar(n, length, vocab):
    table = torch.randint(0, vocab, (vocab, 2), generator=torch.Generator().manual_seed(5))
    ids = [torch.randint(0, vocab, (n,))]
    for _ in range(length):
        ids.append(table[ids[-1], torch.randint(0, 2, (n,))])
    return torch.stack(ids, 1)


def main():
    torch.manual_seed(0)
    train, held = grammar(1500, 14, 22), grammar(200, 14, 22)
    model = Tied(22, 48)
    opt = torch.optim.Adam(model.parameters(), lr=4e-3)
    for epoch in range(4):
        for idx in torch.randperm(len(train)).split(50):
            seq = train[idx]
            loss = F.cross_entropy(model(seq[:, :-1]).transpose(1, 2), seq[:, 1:])
            opt.zero_grad()
            loss.backward()
            opt.step()
        with torch.no_grad():
            value = F.cross_entropy(model(held[:, :-1]).transpose(1, 2), held[:, 1:])
        print(f"epoch {epoch}: held-out {value:.4f} (two choices: 0.6931)")


main()
