import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class WindWords(nn.Module):
    def __init__(self, vocab=45, dim=24, classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim, padding_idx=0)
        self.att = nn.MultiheadAttention(dim, 4, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.cls = nn.Linear(dim, classes)

    def forward(self, tokens):
        valid = tokens.ne(0)
        x = self.emb(tokens)
        mixed, _ = self.att(x, x, x, key_padding_mask=~valid, need_weights=False)
        x = self.norm(x + mixed) * valid.unsqueeze(-1)
        return self.cls(x.sum(1) / valid.sum(1, keepdim=True))


def messages(n, length=14):
    tokens = torch.randint(1, 45, (n, length))
    lengths = torch.randint(3, length, (n,))
    tokens[torch.arange(length) >= lengths[:, None]] = 0
    counts = torch.stack([((tokens % 3 == c) & (tokens != 0)).sum(1) for c in range(3)], 1)
    return TensorDataset(tokens, counts.argmax(1))


def main():
    torch.manual_seed(14)
    train = DataLoader(messages(2500), batch_size=64, shuffle=True, drop_last=True)
    model = WindWords()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    warm = torch.optim.lr_scheduler.LinearLR(opt, start_factor=0.1, total_iters=30)
    for epoch in range(4):
        total = 0.0
        for tokens, labels in train:
            loss = nn.functional.cross_entropy(model(tokens), labels)
            opt.zero_grad()
            loss.backward()
            opt.step()
            warm.step()
            total += loss.item()
        print(epoch, f"{total / len(train):.4f}")


main()
