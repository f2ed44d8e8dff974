"""Several annotators voted on each sample; train on the vote shares."""
import torch
from torch import nn

torch.manual_seed(134)
K = 4
anchors = torch.randn(K, 10)


def annotated(n, votes=7):
    y = torch.randint(0, K, (n,))
    x = anchors[y] + 0.8 * torch.randn(n, 10)
    p = torch.softmax(-torch.cdist(x, anchors) * 1.5, dim=1)
    ballots = torch.multinomial(p, votes, replacement=True)
    share = nn.functional.one_hot(ballots, K).float().mean(1)
    return x / 1.3, share, y


class Trainer:
    def __init__(self):
        self.net = nn.Sequential(nn.Linear(10, 40), nn.ReLU(), nn.Linear(40, K))
        self.criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
        self.optim = torch.optim.Adam(self.net.parameters(), lr=5e-3)

    def epoch(self, x, share):
        losses = []
        for i in torch.randperm(len(x)).split(32):
            loss = self.criterion(self.net(x[i]), share[i])
            self.optim.zero_grad()
            loss.backward()
            self.optim.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)


trainer = Trainer()
x, share, _ = annotated(480)
for e in range(8):
    print("epoch", e, "loss", round(trainer.epoch(x, share), 4))
x, _, y = annotated(200)
with torch.no_grad():
    print("agreement with the truth", (trainer.net(x).argmax(1) == y).float().mean().item())
