"""Does symbol A come before symbol B?"""
import torch
import torch.nn as nn


class OrderNet(nn.Module):
    def __init__(self, vocab=16, width=32, length=8):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.fc = nn.Linear(width, 2)

    def forward(self, tokens):
        h = self.encoder(self.embed(tokens))
        return self.fc(h.mean(dim=1))


def make(n, length=8):
    tokens = torch.randint(2, 16, (n, length))
    places = torch.rand(n, length).argsort(1)[:, :2]
    rows = torch.arange(n)
    tokens[rows, places[:, 0]] = 0
    tokens[rows, places[:, 1]] = 1
    return tokens, (places[:, 0] < places[:, 1]).long()


def main():
    torch.manual_seed(88)
    x, y = make(640)
    x_test, y_test = make(200)
    model = OrderNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    ce = nn.CrossEntropyLoss()
    for epoch in range(10):
        model.train()
        losses = []
        for idx in torch.randperm(640).split(32):
            loss = ce(model(x[idx]), y[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            acc = (model(x_test).argmax(1) == y_test).float().mean().item()
        if epoch % 3 == 0:
            print(f"epoch {epoch}: loss {sum(losses) / len(losses):.3f} test {acc:.3f}")


main()
