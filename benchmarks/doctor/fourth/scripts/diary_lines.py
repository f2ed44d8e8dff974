import torch
import torch.nn as nn

torch.manual_seed(0)
VOCAB, BATCH, CHUNK = 26, 8, 20
stream = (torch.arange(8000) * 3 + torch.arange(8000) // 50) % VOCAB
stream = stream.view(BATCH, -1)


class Diary(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, 32)
        self.lstm = nn.LSTM(32, 64, batch_first=True)
        self.out = nn.Linear(64, VOCAB)

    def forward(self, x, state):
        h, state = self.lstm(self.emb(x), state)
        return self.out(h), state

    def start(self):
        return torch.zeros(1, BATCH, 64), torch.zeros(1, BATCH, 64)


model = Diary()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    hidden = model.start()
    for i in range(0, stream.shape[1] - CHUNK - 1, CHUNK):
        x, y = stream[:, i : i + CHUNK], stream[:, i + 1 : i + CHUNK + 1]
        optimizer.zero_grad()
        logits, hidden = model(x, hidden)
        loss = criterion(logits.reshape(-1, VOCAB), y.reshape(-1))
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
