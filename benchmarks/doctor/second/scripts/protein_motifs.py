import torch
import torch.nn as nn


class MotifNet(nn.Module):
    def __init__(self, letters=20, families=6):
        super().__init__()
        self.embed = nn.Embedding(letters, 16)
        self.conv = nn.Sequential(
            nn.Conv1d(16, 32, 5, padding=2), nn.ReLU(), nn.Conv1d(32, 32, 3, padding=1), nn.ReLU(),
        )
        self.fc = nn.Linear(32, families)

    def forward(self, seq):
        h = self.conv(self.embed(seq).transpose(1, 2))
        return self.fc(h.amax(dim=2))


def proteins(n, motifs):
    seq = torch.randint(0, 20, (n, 30))
    family = torch.randint(0, len(motifs), (n,))
    start = torch.randint(0, 26, (n,))
    seq.scatter_(1, start[:, None] + torch.arange(4), motifs[family])
    return seq, family


class Trainer:
    def __init__(self, model, lr):
        self.model = model
        self.criterion = nn.NLLLoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)

    def fit(self, seq, family, epochs, batch=40):
        for epoch in range(epochs):
            self.model.train()
            total = 0.0
            for idx in torch.randperm(len(seq)).split(batch):
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(seq[idx]), family[idx])
                loss.backward()
                self.optimizer.step()
                total += loss.item() * len(idx)
            print(f"epoch {epoch}: loss {total / len(seq):.4f}")

    def score(self, seq, family):
        self.model.eval()
        with torch.no_grad():
            return (self.model(seq).argmax(1) == family).float().mean().item()


torch.manual_seed(2118)
motifs = torch.randint(0, 20, (6, 4))
trainer = Trainer(MotifNet(), lr=2e-3)
trainer.fit(*proteins(480, motifs), epochs=4)
print("accuracy", trainer.score(*proteins(200, motifs)))
