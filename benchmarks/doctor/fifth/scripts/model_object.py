from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Output:
    loss: torch.Tensor | None
    logits: torch.Tensor


class MaskedLM(nn.Module):
    def __init__(self, vocab=16, dim=32, length=12):
        super().__init__()
        self.words = nn.Embedding(vocab + 1, dim)
        self.places = nn.Embedding(length, dim)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.lm_head = nn.Linear(dim, vocab)

    def forward(self, input_ids, labels=None):
        h = self.words(input_ids) + self.places(torch.arange(input_ids.size(1)))
        logits = self.lm_head(self.encoder(h))
        loss = None
        if labels is not None:
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        return Output(loss=loss, logits=logits)


def collate(n, vocab=16, length=12):
    start, stride = torch.randint(0, vocab, (n, 1)), torch.randint(1, 3, (n, 1))
    ids = (start + stride * torch.arange(length)) % vocab
    hidden = torch.rand(n, length) < 0.2
    return {"input_ids": ids.masked_fill(hidden, vocab), "labels": ids.masked_fill(~hidden, -100)}


torch.manual_seed(34)
model = MaskedLM()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for step in range(1, 251):
    outputs = model(**collate(32))
    outputs.loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step % 50 == 0:
        print(f"step {step}: loss {outputs.loss.item():.4f}")
