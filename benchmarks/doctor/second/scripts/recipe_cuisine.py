import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

VOCAB, DIM, CUISINES, WORDS = 120, 16, 4, 10


def recipes(n, prefer):
    y = torch.randint(0, CUISINES, (n,))
    words = torch.multinomial(prefer[y], WORDS, replacement=True)
    return words, y


class CuisineNet(nn.Module):
    def __init__(self):
        super().__init__()
        vectors = torch.randn(VOCAB, DIM) / DIM**0.5
        self.embedding = nn.Embedding.from_pretrained(vectors)
        self.gru = nn.GRU(DIM, 32, batch_first=True)
        self.fc = nn.Linear(32, CUISINES)

    def forward(self, words):
        _, h = self.gru(self.embedding(words))
        return self.fc(h[-1])


torch.manual_seed(2112)
prefer = torch.rand(CUISINES, VOCAB) ** 4
train = DataLoader(TensorDataset(*recipes(800, prefer)), batch_size=50, shuffle=True)
test_words, test_y = recipes(200, prefer)
model = CuisineNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(6):
    model.train()
    for words, y in train:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(words), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    model.eval()
    with torch.no_grad():
        acc = (model(test_words).argmax(1) == test_y).float().mean().item()
    print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {acc:.3f}")
