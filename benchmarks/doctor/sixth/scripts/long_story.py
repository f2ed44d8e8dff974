import torch
from torch import nn


class StoryModel(nn.Module):
    def __init__(self, vocab=12, width=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.out = nn.Linear(width, vocab)

    def forward(self, tokens, state):
        h, state = self.lstm(self.embed(tokens), state)
        return self.out(h), state


def repackage(state):
    return tuple(s.detach() for s in state)


def main():
    torch.manual_seed(8)
    story = torch.tensor([(3 * i + i // 7) % 12 for i in range(8 * 121)]).view(8, 121)
    model = StoryModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for epoch in range(10):
        state = (torch.zeros(1, 8, 24), torch.zeros(1, 8, 24))
        total = 0.0
        for i in range(0, 120, 12):
            state = repackage(state)
            scores, state = model(story[:, i : i + 12], state)
            loss = nn.functional.cross_entropy(scores.reshape(-1, 12), story[:, i + 1 : i + 13].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        print(f"epoch {epoch} loss {total / 10:.4f}")


if __name__ == "__main__":
    main()
