import torch
import torch.nn as nn


class SlateTrainer:
    def __init__(self, model, lr=1e-2):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.loss_fn = nn.CrossEntropyLoss()

    def compute(self, x, y):
        loss = self.loss_fn(self.model(x), y)
        loss.backward()
        return loss.item()

    def apply(self):
        self.optimizer.zero_grad()
        self.optimizer.step()

    def fit(self, x, y, epochs=8, batch_size=32):
        for epoch in range(epochs):
            losses = []
            for rows in torch.randperm(len(x)).split(batch_size):
                losses.append(self.compute(x[rows], y[rows]))
                self.apply()
            print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")


torch.manual_seed(0)
strokes = torch.randn(480, 12)
digits = strokes[:, :6].argmax(1)
SlateTrainer(nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 6))).fit(strokes, digits)
