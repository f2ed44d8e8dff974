import torch
from sklearn.datasets import load_digits
from torch import nn


class AmpTrainer:
    def __init__(self, model, lr=0.1, clip=2.0):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
        self.clip = clip

    def step(self, x, y):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            out = self.model(x)
        loss = nn.functional.cross_entropy(out.float(), y)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        return loss.item()

    def fit(self, x, y, epochs, size=50):
        for epoch in range(epochs):
            self.model.train()
            losses = [self.step(x[i], y[i]) for i in torch.randperm(len(x)).split(size)]
            print(f"epoch {epoch}: {sum(losses) / len(losses):.4f}")


torch.manual_seed(23)
d = load_digits()
x, y = torch.tensor(d.data, dtype=torch.float32) / 16, torch.tensor(d.target)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
AmpTrainer(model).fit(x[:1400], y[:1400], 5)
model.eval()
with torch.no_grad():
    print("accuracy", (model(x[1400:]).argmax(1) == y[1400:]).float().mean().item())
