import torch
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from torch import nn


def param_groups(model, decay):
    matrices = [p for p in model.parameters() if p.ndim >= 2]
    others = [p for p in model.parameters() if p.ndim < 2]
    return [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]


def data():
    bunch = load_breast_cancer()
    x_tr, x_te, y_tr, y_te = train_test_split(bunch.data, bunch.target, test_size=0.3, random_state=4)
    mean, std = x_tr.mean(0), x_tr.std(0)
    scale = lambda a: torch.tensor((a - mean) / std, dtype=torch.float32)
    return scale(x_tr), scale(x_te), torch.tensor(y_tr), torch.tensor(y_te)


def main():
    torch.manual_seed(38)
    x, xt, y, yt = data()
    model = nn.Sequential(nn.Linear(30, 48), nn.LayerNorm(48), nn.GELU(), nn.Linear(48, 2))
    optimizer = torch.optim.AdamW(param_groups(model, 0.5), lr=1e-3)
    for epoch in range(15):
        model.train()
        for idx in torch.randperm(len(x)).split(20):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            optimizer.step()
        if epoch % 3 == 2:
            model.eval()
            with torch.no_grad():
                out = model(xt)
            acc = (out.argmax(1) == yt).float().mean()
            print(f"epoch {epoch + 1}: test loss {nn.functional.cross_entropy(out, yt):.4f} acc {acc:.3f}")


main()
