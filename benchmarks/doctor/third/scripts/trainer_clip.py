"""A little Trainer class for sequence regression."""
import torch
import torch.nn as nn


class SumRNN(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.rnn = nn.GRU(2, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.out(h[:, -1])


class Trainer:
    def __init__(self, model, lr=3e-3, clip=0.5):
        self.model = model
        self.clip = clip
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.criterion = nn.MSELoss()

    def train_step(self, x, y):
        self.model.train()
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        return loss.item()


def adding(n, length=20):
    values = torch.rand(n, length)
    marks = torch.zeros(n, length)
    for row in marks:
        row[torch.randperm(length)[:2]] = 1
    return torch.stack([values, marks], -1), (values * marks).sum(1, keepdim=True)


torch.manual_seed(8)
trainer = Trainer(SumRNN())
for step in range(80):
    loss = trainer.train_step(*adding(32))
    if step % 20 == 0:
        print(step, loss)
