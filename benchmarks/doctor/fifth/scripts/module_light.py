import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class LitDigits(nn.Module):
    def __init__(self, lr=2e-3):
        super().__init__()
        self.lr = lr
        self.net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, 10))
        self.logged = {}

    def forward(self, x):
        return self.net(x)

    def log(self, name, value):
        self.logged.setdefault(name, []).append(value.detach())

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.cross_entropy(self(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        self.log("val_acc", (self(x).argmax(1) == y).float().mean())

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=self.lr)


class MiniTrainer:
    def __init__(self, max_epochs):
        self.max_epochs = max_epochs

    def fit(self, module, train, val):
        optimizer = module.configure_optimizers()
        for epoch in range(self.max_epochs):
            module.logged.clear()
            module.train()
            for i, batch in enumerate(train):
                loss = module.training_step(batch, i)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            module.eval()
            with torch.inference_mode():
                for i, batch in enumerate(val):
                    module.validation_step(batch, i)
            print(epoch, {k: round(torch.stack(v).mean().item(), 4) for k, v in module.logged.items()})


torch.manual_seed(35)
d = load_digits()
x, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
train = DataLoader(TensorDataset(x[:1400], y[:1400]), batch_size=40, shuffle=True)
val = DataLoader(TensorDataset(x[1400:], y[1400:]), batch_size=397)
MiniTrainer(6).fit(LitDigits(), train, val)
