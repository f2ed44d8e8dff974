import torch
import torch.nn as nn

PAD = 0


class Attention(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.q, self.k, self.v = nn.Linear(dim, dim), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.scale = dim**-0.5

    def forward(self, x, bias):
        scores = self.q(x) @ self.k(x).transpose(-2, -1) * self.scale
        return torch.softmax(scores + bias, dim=-1) @ self.v(x)


class WeatherWords(nn.Module):
    def __init__(self, vocab=45, dim=24, classes=3):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.att = Attention(dim)
        self.norm = nn.LayerNorm(dim)
        self.cls = nn.Linear(dim, classes)

    def forward(self, tokens):
        real = (tokens != PAD).float()
        bias = (real * -1e9).unsqueeze(1)
        x = self.emb(tokens)
        x = self.norm(x + self.att(x, bias))
        return self.cls((x * real.unsqueeze(-1)).sum(1) / real.sum(1, keepdim=True))


def messages(n, length=14):
    tokens = torch.randint(1, 45, (n, length))
    lengths = torch.randint(3, length, (n,))
    tokens[torch.arange(length) >= lengths[:, None]] = PAD
    counts = torch.stack([((tokens % 3 == c) & (tokens != PAD)).sum(1) for c in range(3)], 1)
    return tokens, counts.argmax(1)


def train(model, tokens, labels, epochs=4):
    opt = torch.optim.Adam(model.parameters(), lr=3e-3)
    for epoch in range(epochs):
        for idx in torch.randperm(len(tokens)).split(64):
            loss = nn.functional.cross_entropy(model(tokens[idx]), labels[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
        print(epoch, loss.item())


if __name__ == "__main__":
    torch.manual_seed(14)
    train(WeatherWords(), *messages(2500))
