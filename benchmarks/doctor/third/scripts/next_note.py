"""A GRU over melodies; the prompt does not count in the loss."""
import torch
import torch.nn as nn
import torch.nn.functional as F

torch.manual_seed(143)
NOTES, LENGTH, PROMPT = 16, 20, 4


def melodies(n=32):
    start = torch.randint(0, NOTES, (n, 1))
    jumps = torch.randint(1, 3, (n, 1)) * torch.arange(LENGTH)
    ids = (start + jumps) % NOTES
    labels = ids.clone()
    labels[:, :PROMPT] = -100
    return ids, labels


class MelodyLM(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(NOTES, dim)
        self.gru = nn.GRU(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, NOTES)

    def forward(self, ids, labels=None):
        h, _ = self.gru(self.embed(ids))
        logits = self.head(h)
        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[:, :-1].reshape(-1, NOTES), labels[:, 1:].reshape(-1))
        return loss, logits


model = MelodyLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(100):
    ids, labels = melodies()
    loss, _ = model(ids, labels=labels)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 25 == 0:
        print(step, f"{loss.item():.4f}")
