import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

torch.manual_seed(27)
PAD = 0


def make_examples(n):
    examples = []
    for _ in range(n):
        length = int(torch.randint(3, 12, (1,)))
        beads = torch.randint(1, 9, (length,))
        examples.append((beads, int((beads == 3).sum().clamp(max=3))))
    return examples


def collate(batch):
    beads = pad_sequence([b for b, _ in batch], batch_first=True, padding_value=PAD)
    return beads, torch.tensor([label for _, label in batch])


class BeadCounter(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.embed = nn.Embedding(9, dim, padding_idx=PAD)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=1, enable_nested_tensor=False)
        self.query = nn.Parameter(torch.randn(1, 1, dim) * 0.1)
        self.head = nn.Linear(dim, 4)

    def forward(self, beads):
        h = torch.cat([self.query.expand(len(beads), -1, -1), self.embed(beads)], dim=1)
        first = torch.ones(len(beads), 1, dtype=torch.bool)
        mask = torch.cat([first, beads != PAD], dim=1)
        mask[:, 0] = False
        h = self.encoder(h, src_key_padding_mask=mask)
        return self.head(h[:, 0])


train = DataLoader(make_examples(1500), batch_size=30, shuffle=True, collate_fn=collate)
test = DataLoader(make_examples(300), batch_size=100, collate_fn=collate)
model = BeadCounter()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
loss_fn = nn.CrossEntropyLoss()
for epoch in range(4):
    model.train()
    for beads, label in train:
        optimizer.zero_grad()
        loss = loss_fn(model(beads), label)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        hits = sum((model(b).argmax(1) == label).sum().item() for b, label in test)
    print(f"epoch {epoch}: loss {loss.item():.3f} test accuracy {hits / 300:.3f}")
