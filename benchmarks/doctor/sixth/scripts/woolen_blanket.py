"""Count how many red threads a padded pattern contains (more than blue ones or not)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, VOCAB, WIDTH, LONGEST = 0, 8, 32, 14


def patterns(n):
    lengths = torch.randint(4, LONGEST, (n,))
    tokens = torch.randint(1, VOCAB, (n, LONGEST))
    is_pad = torch.arange(LONGEST)[None] >= lengths[:, None]
    tokens = tokens.masked_fill(is_pad, PAD)
    return tokens, ((tokens == 1).sum(1) > (tokens == 2).sum(1)).long()


class Weaver(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH, padding_idx=PAD)
        self.place = nn.Parameter(0.02 * torch.randn(LONGEST, WIDTH))
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 2)

    def forward(self, tokens):
        padding = tokens == PAD
        x = self.embed(tokens) + self.place
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=padding[:, None, :])
        return self.head(mixed.mean(1))


def main():
    torch.manual_seed(2)
    model = Weaver()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    tokens, labels = patterns(640)
    val_tokens, val_labels = patterns(200)
    for epoch in range(8):
        total = 0.0
        for rows in torch.randperm(640).split(32):
            loss = F.cross_entropy(model(tokens[rows]), labels[rows])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        with torch.no_grad():
            accuracy = (model(val_tokens).argmax(1) == val_labels).float().mean().item()
        print(f"epoch {epoch} loss {total / 20:.4f} accuracy {accuracy:.3f}")


main()
