import torch
from torch import nn

torch.manual_seed(7)


class Notes(nn.Module):
    def __init__(self, vocab=24, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, 48, batch_first=True)
        self.out = nn.Linear(48, vocab)

    def forward(self, x):
        h, _ = self.rnn(self.emb(x))
        return self.out(h)


def melodies(n, length=17):
    start = torch.randint(0, 24, (n, 1))
    stride = torch.randint(1, 4, (n, 1))
    return (start + stride * torch.arange(length)) % 24


data = melodies(1200)
model = Notes()
opt = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)
for epoch in range(5):
    for idx in torch.randperm(len(data)).split(60):
        x, y = data[idx, :-1], data[idx, 1:]
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(x)
        loss = nn.functional.cross_entropy(logits.float().flatten(0, 1), y.flatten())
        opt.zero_grad()
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
    print(f"epoch {epoch}: {loss.item():.4f}")
