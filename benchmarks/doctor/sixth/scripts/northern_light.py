import math

import torch
import torch.nn as nn


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=50):
        super().__init__()
        position = torch.arange(max_len).unsqueeze(1)
        div = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div)
        pe[:, 0, 1::2] = torch.cos(position * div)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(0)]


class TransformerModel(nn.Module):
    def __init__(self, ntoken=18, d=32):
        super().__init__()
        self.embedding = nn.Embedding(ntoken, d)
        self.pos_encoder = PositionalEncoding(d)
        layer = nn.TransformerEncoderLayer(d, 2, 64, dropout=0.1)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.linear = nn.Linear(d, ntoken)
        self.d = d

    def forward(self, src):
        mask = torch.full((len(src), len(src)), float("-inf")).triu(diagonal=1)
        x = self.pos_encoder(self.embedding(src) * math.sqrt(self.d))
        return self.linear(self.encoder(x, mask))


def batchify(data, bsz):
    n = data.size(0) // bsz
    return data[: n * bsz].view(bsz, n).t().contiguous()


torch.manual_seed(0)
stream = torch.tensor([(i * i + (i // 3)) % 18 for i in range(2400)])
train, valid = batchify(stream[:2000], 10), batchify(stream[2000:], 10)
bptt = 20
model = TransformerModel()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)


def evaluate(source):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for i in range(0, source.size(0) - 1, bptt):
            n = min(bptt, len(source) - 1 - i)
            out = model(source[i : i + n])
            total += n * criterion(out.view(-1, 18), source[i + 1 : i + 1 + n].reshape(-1)).item()
    return total / (len(source) - 1)


for epoch in range(12):
    model.train()
    starts = torch.randperm((len(train) - 1) // bptt) * bptt
    for i in starts.tolist():
        n = min(bptt, len(train) - 1 - i)
        out = model(train[i : i + n])
        loss = criterion(out.view(-1, 18), train[i + 1 : i + 1 + n].reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    print(f"epoch {epoch} train {loss.item():.3f} valid {evaluate(valid):.3f}")
