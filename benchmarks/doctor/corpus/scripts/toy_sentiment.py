"""Sentiment of made-up reviews: mean of word vectors, accumulated gradients."""
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    vocab: int = 60
    dim: int = 16
    length: int = 12
    micro: int = 8
    accumulate: int = 8
    updates: int = 40
    lr: float = 1.0


class Reviews:
    """Words below vocab/2 are positive, the rest negative."""

    def __init__(self, cfg, seed):
        self.cfg, self.g = cfg, torch.Generator().manual_seed(seed)

    def batch(self):
        c = self.cfg
        words = torch.randint(0, c.vocab, (c.micro, c.length), generator=self.g)
        label = ((words < c.vocab // 2).float().mean(1) > 0.5).long()
        return words, label


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        self.model = nn.Sequential(nn.EmbeddingBag(cfg.vocab, cfg.dim, mode="mean"), nn.Linear(cfg.dim, 2))
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=cfg.lr)
        self.criterion = nn.CrossEntropyLoss()

    def update(self, data):
        self.optimizer.zero_grad()
        seen = 0.0
        for _ in range(self.cfg.accumulate):
            words, label = data.batch()
            loss = self.criterion(self.model(words), label)
            loss.backward()
            seen += loss.item()
        self.optimizer.step()
        return seen / self.cfg.accumulate

    @torch.no_grad()
    def accuracy(self, data, batches=20):
        right = sum((self.model(w).argmax(1) == y).sum().item() for w, y in (data.batch() for _ in range(batches)))
        return right / (batches * self.cfg.micro)


torch.manual_seed(0)
cfg = Config()
trainer, train_data, test_data = Trainer(cfg), Reviews(cfg, 1), Reviews(cfg, 2)
for u in range(cfg.updates):
    loss = trainer.update(train_data)
    if u % 10 == 0:
        print(f"update {u}: {loss:.3f}")
print("accuracy on new reviews", trainer.accuracy(test_data))
