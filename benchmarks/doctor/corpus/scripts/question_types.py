import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader


class Classifier(nn.Module):
    def __init__(self, vocab=30, width=24, hidden=32, classes=3):
        super().__init__()
        self.embed = nn.Embedding(vocab, width, padding_idx=0)
        self.lstm = nn.LSTM(width, hidden, batch_first=True)
        self.fc = nn.Linear(hidden, classes)

    def forward(self, tokens, lengths):
        packed = pack_padded_sequence(self.embed(tokens), lengths, batch_first=True, enforce_sorted=False)
        return self.fc(self.lstm(packed)[1][0][-1])


def sentences(n):
    """the last marker word (1, 2 or 3) decides"""
    out = []
    for length in torch.randint(4, 12, (n,)).tolist():
        s = torch.randint(4, 30, (length,))
        s[int(torch.randint(0, length, (1,)))] = 1 + int(torch.randint(0, 3, (1,)))
        out.append((s, int(s[(s < 4).nonzero()[-1, 0]]) - 1))
    return out


def collate(items):
    tokens, labels = zip(*items)
    return pad_sequence(tokens, batch_first=True), torch.tensor([len(t) for t in tokens]), torch.tensor(labels)


class Trainer:
    def __init__(self, model, lr=5e-3, clip=1.0):
        self.model, self.clip = model, clip
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)

    def train_epoch(self, loader):
        self.model.train()
        total = 0.0
        for tokens, lengths, labels in loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(tokens, lengths), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
            self.optimizer.step()
            total += loss.item()
        return total / len(loader)

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        pairs = [(self.model(t, n).argmax(1) == y).float().mean().item() for t, n, y in loader]
        return sum(pairs) / len(pairs)


torch.manual_seed(193)
train = DataLoader(sentences(480), batch_size=32, shuffle=True, collate_fn=collate)
test = DataLoader(sentences(160), batch_size=40, collate_fn=collate)
trainer = Trainer(Classifier())
for epoch in range(7):
    print(f"epoch {epoch}: loss {trainer.train_epoch(train):.3f} accuracy {trainer.evaluate(test):.3f}")
