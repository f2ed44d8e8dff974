import torch
import torch.nn as nn
import torch.nn.functional as F


class Average:
    def __init__(self):
        self.total, self.count = torch.zeros(()), 0

    def add(self, value, n):
        self.total += value.detach() * n
        self.count += n

    def __call__(self):
        return self.total.item() / self.count


def build():
    return nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 5))


torch.manual_seed(2)
x = torch.randn(3000, 30)
y = (x @ torch.randn(30, 5)).argmax(1)
model = build()
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(5):
    average, predictions, answers = Average(), [], []
    for idx in torch.randperm(len(x)).split(50):
        logits = model(x[idx])
        loss = F.cross_entropy(logits, y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
        average.add(loss, len(idx))
        predictions.append(logits.argmax(1))
        answers.append(y[idx])
    share = (torch.cat(predictions) == torch.cat(answers)).float().mean().item()
    print(f"{epoch} loss {average():.4f} accuracy {share:.3f}")
