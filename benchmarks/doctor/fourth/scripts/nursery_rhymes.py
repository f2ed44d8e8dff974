import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Rhymes(Dataset):
    def __init__(self, n=1000, length=16, vocab=30):
        torch.manual_seed(3)
        start, stride = torch.randint(0, vocab, (n, 1)), torch.randint(1, 5, (n, 1))
        self.text = (start + stride * torch.arange(length + 1)) % vocab

    def __len__(self):
        return len(self.text)

    def __getitem__(self, i):
        return {"input_ids": self.text[i, :-1], "labels": self.text[i, 1:]}


class RhymeLM(nn.Module):
    def __init__(self, vocab=30, dim=48):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, vocab)

    def forward(self, input_ids, labels=None):
        logits = self.out(self.lstm(self.emb(input_ids))[0])
        loss = None
        if labels is not None:
            shifted, goal = logits[:, :-1], labels[:, 1:]
            loss = F.cross_entropy(shifted.reshape(-1, shifted.size(-1)), goal.reshape(-1))
        return logits, loss


dataset = Rhymes()
loader = DataLoader(dataset, batch_size=25, shuffle=True)
model = RhymeLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(4):
    for batch in loader:
        logits, loss = model(**batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
model.eval()
with torch.no_grad():
    logits, _ = model(dataset.text[:100, :-1])
    share = (logits.argmax(-1) == dataset.text[:100, 1:]).float().mean()
print(f"next token right: {share:.3f}")
