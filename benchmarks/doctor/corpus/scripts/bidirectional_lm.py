import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, MASK, VOCAB, LEN = 0, 1, 14, 10
torch.manual_seed(147)


class BertLike(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.tok = nn.Embedding(VOCAB, width, padding_idx=PAD)
        self.pos = nn.Embedding(LEN, width)
        layer = nn.TransformerEncoderLayer(width, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
        self.enc = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, VOCAB)

    def forward(self, tokens):
        h = self.tok(tokens) + self.pos.weight[: tokens.shape[1]]
        h = self.enc(h, src_key_padding_mask=tokens == PAD)
        return self.out(self.norm(h))


def sentences(n):
    """cyclic runs of 12 words, of different lengths"""
    start, length = torch.randint(0, 12, (n, 1)), torch.randint(5, LEN + 1, (n, 1))
    where = torch.arange(LEN)
    words = (start + where) % 12 + 2
    return words.masked_fill(where >= length, PAD)


def corrupt(words, p=0.25):
    hide = (torch.rand(words.shape) < p) & (words != PAD)
    hide[:, 0] |= ~hide.any(1)
    return words.masked_fill(hide, MASK), words.masked_fill(~hide, -100)


model = BertLike()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for it in range(120):
    tokens, labels = corrupt(sentences(48))
    loss = F.cross_entropy(model(tokens).transpose(1, 2), labels, ignore_index=-100)
    opt.zero_grad()
    loss.backward()
    opt.step()
    if it % 30 == 0:
        print(f"it {it}: masked loss {loss.item():.3f}")
model.eval()
tokens, labels = corrupt(sentences(200))
with torch.no_grad():
    right = (model(tokens).argmax(-1) == labels)[labels != -100].float().mean()
print(f"hidden words found: {right:.3f}")
