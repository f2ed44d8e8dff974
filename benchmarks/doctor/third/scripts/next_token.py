"""A GRU language model whose forward makes the loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(141)
VOCAB, BLOCK = 16, 20
table = torch.randint(0, VOCAB, (VOCAB, 3))


def make_text(n=6000):
    out = [0]
    for r in torch.randint(0, 3, (n,)).tolist():
        out.append(int(table[out[-1], r]))
    return torch.tensor(out)


class LM(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, VOCAB)

    def forward(self, input_ids, labels=None):
        h, _ = self.gru(self.embed(input_ids))
        logits = self.head(h)
        if labels is None:
            return logits
        shift_logits = logits[:, :-1].contiguous()
        shift_labels = labels[:, 1:].contiguous()
        return F.cross_entropy(shift_logits.view(-1, VOCAB), shift_labels.view(-1)), logits


text = make_text()
model = LM()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(100):
    ix = torch.randint(0, len(text) - BLOCK - 1, (16,))
    x = torch.stack([text[i:i + BLOCK] for i in ix])
    y = torch.stack([text[i + 1:i + 1 + BLOCK] for i in ix])
    loss, _ = model(input_ids=x, labels=y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 25 == 0:
        print(step, f"{loss.item():.4f}")
