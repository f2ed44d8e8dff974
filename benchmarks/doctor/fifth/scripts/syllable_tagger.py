import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(21)
VOCAB, CLASSES, LENGTH = 20, 8, 10


class SyllableTagger(nn.Module):
    def __init__(self, embed=16, hidden=32):
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, embed)
        self.lstm = nn.LSTM(embed, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, CLASSES)

    def forward(self, tokens):
        states, _ = self.lstm(self.embedding(tokens))
        scores = self.fc(states)
        return F.softmax(scores, dim=-1)


def make_data(n):
    tokens = torch.randint(0, VOCAB, (n, LENGTH))
    previous = torch.roll(tokens, 1, dims=1)
    previous[:, 0] = 0
    tags = (tokens + previous) % CLASSES
    return tokens, tags


def evaluate(model, tokens, tags):
    model.eval()
    with torch.no_grad():
        hit = (model(tokens).argmax(-1) == tags).float().mean().item()
    model.train()
    return hit


train_x, train_y = make_data(1200)
test_x, test_y = make_data(300)
model = SyllableTagger()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)

for epoch in range(5):
    for idx in torch.randperm(len(train_x)).split(50):
        out = model(train_x[idx])
        loss = criterion(out.reshape(-1, CLASSES), train_y[idx].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"{epoch} loss {loss.item():.3f} test {evaluate(model, test_x, test_y):.3f}")
