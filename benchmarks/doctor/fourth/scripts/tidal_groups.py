import torch
import torch.nn as nn

torch.manual_seed(0)
GROUP = 8


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def epoch(self, x, y):
        self.optimizer.zero_grad()
        total, chunks = 0.0, torch.randperm(len(x)).split(16)
        for i, idx in enumerate(chunks):
            loss = nn.functional.mse_loss(self.model(x[idx]), y[idx])
            (loss / GROUP).backward()
            total += loss.item()
            if (i + 1) % GROUP == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
        return total / len(chunks)


x = torch.randn(432, 9)
y = torch.sin(x[:, :1]) + 0.5 * x[:, 1:2]
trainer = Trainer(nn.Sequential(nn.Linear(9, 48), nn.Tanh(), nn.Linear(48, 1)), lr=1e-2)
for epoch in range(12):
    value = trainer.epoch(x, y)
    if epoch % 3 == 0:
        print(epoch, round(value, 4))
