"""Apple grading with a gradient scaler on the processor."""
import torch
from torch import nn


def orchard(n, g):
    x = torch.randn(n, 12, generator=g)
    y = (x[:, :4].sum(1) > x[:, 4:8].sum(1)).long() + (x[:, 8] > 1).long()
    return x, y


def train_one_epoch(model, optimizer, scaler, data, batch=32, max_norm=1.0):
    x, y = data
    total = 0.0
    for rows in torch.randperm(len(x)).split(batch):
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = model(x[rows])
        loss = nn.functional.cross_entropy(logits.float(), y[rows])
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm)
        scaler.step(optimizer)
        scaler.update()
        total += loss.item() * len(rows)
    return total / len(x)


def main():
    torch.manual_seed(7)
    g = torch.Generator().manual_seed(7)
    data, held = orchard(800, g), orchard(200, g)
    model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**14)
    for epoch in range(6):
        loss = train_one_epoch(model, optimizer, scaler, data)
        with torch.no_grad():
            accuracy = (model(held[0]).argmax(1) == held[1]).float().mean().item()
        print(f"epoch {epoch}: {loss:.4f} {accuracy:.3f}")


main()
