import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(16)


class FrondNet(nn.Module):
    def __init__(self, n_in=12, width=64, n_out=3):
        super().__init__()
        self.fc1 = nn.Linear(n_in, width)
        self.fc2 = nn.Linear(width, width)
        self.fc3 = nn.Linear(width, n_out)

    def forward(self, x):
        x = F.relu(self.fc1(x))
        x = F.dropout(x, p=0.4)
        x = F.relu(self.fc2(x))
        return self.fc3(x)


def sample(n, centres):
    kind = torch.randint(0, 3, (n,))
    x = centres[kind] + torch.randn(n, 12) * 1.4
    return x, kind


def fit(model, data, valid, epochs=8, batch=25):
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    x, y = data
    for epoch in range(epochs):
        model.train()
        for idx in torch.randperm(len(x)).split(batch):
            opt.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            opt.step()
        model.eval()
        with torch.no_grad():
            logits = model(valid[0])
            acc = (logits.argmax(1) == valid[1]).float().mean()
        print(f"epoch {epoch}: train {loss.item():.3f} val {F.cross_entropy(logits, valid[1]):.3f} acc {acc:.3f}")


centres = torch.randn(3, 12)
fit(FrondNet(), sample(800, centres), sample(400, centres))
