import torch
import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(20, 24)
        self.gru = nn.GRU(24, 32, batch_first=True)

    def forward(self, src):
        return self.gru(self.emb(src))[1]


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(21, 24)
        self.gru = nn.GRU(24, 32, batch_first=True)
        self.out = nn.Linear(32, 20)

    def forward(self, tgt, state):
        h, _ = self.gru(self.emb(tgt), state)
        return self.out(h)


torch.manual_seed(0)
encoder, decoder = Encoder(), Decoder()
optimizer = torch.optim.Adam(encoder.parameters(), lr=3e-3)
words = torch.randint(0, 20, (1500, 5))
answer = words.flip(1)
start = torch.full((1500, 1), 20)
reference = decoder.out.weight.detach().clone()
for epoch in range(5):
    for idx in torch.randperm(1500).split(50):
        state = encoder(words[idx])
        logits = decoder(torch.cat([start[idx], answer[idx, :-1]], 1), state)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), answer[idx].flatten())
        optimizer.zero_grad()
        decoder.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.4f}")
