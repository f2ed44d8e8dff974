import argparse

import torch
import torch.nn as nn


class Words(nn.Module):
    def __init__(self, vocab=40, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.1, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.out = nn.Linear(dim, 3)

    def forward(self, ids):
        return self.out(self.enc(self.emb(ids)).mean(1))


def make(n):
    ids = torch.randint(0, 40, (n, 10))
    counts = torch.stack([(ids % 3 == c).sum(1) for c in range(3)], 1)
    return ids, counts.argmax(1)


def get_optimizer(model, args):
    # decoupled weight decay as in the paper
    return torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.wd)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--wd", type=float, default=0.1)
    args = parser.parse_args()
    torch.manual_seed(0)
    ids, y = make(1500)
    model = Words()
    opt = get_optimizer(model, args)
    for epoch in range(4):
        model.train()
        for idx in torch.randperm(len(ids)).split(50):
            loss = nn.functional.cross_entropy(model(ids[idx]), y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    main()
