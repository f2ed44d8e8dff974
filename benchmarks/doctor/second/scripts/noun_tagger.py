"""A bidirectional LSTM that tags the words of invented sentences."""
import torch
import torch.nn as nn

VOCAB, TAGS, LENGTH = 50, 4, 9


def sentences(n, gen):
    words = torch.randint(0, VOCAB, (n, LENGTH), generator=gen)
    tags = words % TAGS
    after_article = torch.roll(tags, 1, dims=1) == 0
    after_article[:, 0] = False
    tags = torch.where(after_article, torch.ones_like(tags), tags)
    return words, tags


class Tagger(nn.Module):
    def __init__(self, dim=24, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.fc = nn.Linear(2 * hidden, TAGS)

    def forward(self, words):
        out, _ = self.lstm(self.emb(words))
        return self.fc(out)


def train(model, words, tags, epochs=6, micro=8, accumulate=4):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.15, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(epochs):
        batches = torch.randperm(len(words)).split(micro)
        seen = 0.0
        for step, idx in enumerate(batches):
            scores = model(words[idx])
            loss = criterion(scores.flatten(0, 1), tags[idx].flatten())
            loss.backward()
            seen += loss.item()
            if (step + 1) % accumulate == 0:
                optimizer.step()
                optimizer.zero_grad()
        print(f"epoch {epoch}: {seen / len(batches):.4f}")


if __name__ == "__main__":
    torch.manual_seed(2102)
    gen = torch.Generator().manual_seed(5)
    tagger = Tagger()
    train(tagger, *sentences(512, gen))
    words, tags = sentences(200, gen)
    with torch.no_grad():
        hits = tagger(words).argmax(-1) == tags
    print("tag accuracy", hits.float().mean().item())
