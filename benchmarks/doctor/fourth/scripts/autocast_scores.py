import torch
from torch import nn


class Melody(nn.Module):
    def __init__(self, vocab=24, dim=32):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.LSTM(dim, 48, batch_first=True)
        self.out = nn.Linear(48, vocab)

    def forward(self, x):
        return self.out(self.rnn(self.emb(x))[0])


class AmpTrainer:
    def __init__(self, model, clip=1.0):
        self.model = model
        self.clip = clip
        self.opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**12)

    def step(self, x, y):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = self.model(x)
            loss = nn.functional.cross_entropy(logits.float().transpose(1, 2), y)
        self.opt.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.opt)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.scaler.step(self.opt)
        self.scaler.update()
        return loss.detach()


def main():
    torch.manual_seed(9)
    start = torch.randint(0, 24, (1000, 1))
    stride = torch.randint(1, 4, (1000, 1))
    data = (start + stride * torch.arange(17)) % 24
    trainer = AmpTrainer(Melody())
    for epoch in range(5):
        losses = [trainer.step(data[i, :-1], data[i, 1:]) for i in torch.randperm(1000).split(50)]
        print(f"epoch {epoch}: {torch.stack(losses).mean():.4f}")


if __name__ == "__main__":
    main()
