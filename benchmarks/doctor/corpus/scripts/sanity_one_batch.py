"""Before the long run: the model must be able to memorise one batch."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class TextCNN(nn.Module):
    def __init__(self, vocab=50, width=24, classes=5):
        super().__init__()
        self.embed = nn.Embedding(vocab, width)
        self.convs = nn.ModuleList(nn.Conv1d(width, 32, k, padding=k // 2) for k in (3, 5))
        self.out = nn.Linear(64, classes)

    def forward(self, tokens):
        x = self.embed(tokens).transpose(1, 2)
        pooled = [F.relu(conv(x)).amax(2) for conv in self.convs]
        return self.out(torch.cat(pooled, 1))


def main():
    torch.manual_seed(126)
    tokens = torch.randint(0, 50, (32, 20))
    labels = tokens[:, 0] % 5
    model = TextCNN()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for step in range(80):
        optimizer.zero_grad()
        logits = model(tokens)
        loss = F.cross_entropy(logits, labels)
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            acc = (logits.argmax(1) == labels).float().mean().item()
            print(f"step {step:2d}: loss {loss.item():.4f} batch accuracy {acc:.2f}")
    if loss.item() < 0.05:
        print("the batch is memorised, the pipeline works")


main()
