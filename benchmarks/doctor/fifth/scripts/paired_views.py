import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from torch import nn

torch.manual_seed(44)
digits = load_digits()
data = torch.tensor(digits.images, dtype=torch.float32) / 16


def view(x):
    x = x.flatten(1) * (torch.rand(len(x), 64) > 0.2)
    return x + 0.1 * torch.randn_like(x)


encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 32))
projector = nn.Sequential(nn.ReLU(), nn.Linear(32, 32))
optimizer = torch.optim.Adam([*encoder.parameters(), *projector.parameters()], lr=2e-3)


def info_nce(a, b, temperature=0.1):
    a, b = F.normalize(a, dim=1), F.normalize(b, dim=1)
    logits = a @ b.T / temperature
    labels = torch.arange(len(a))
    return (F.cross_entropy(logits, labels) + F.cross_entropy(logits.T, labels)) / 2


for epoch in range(6):
    for batch in data[torch.randperm(1400)].split(100):
        loss = info_nce(projector(encoder(view(batch))), projector(encoder(view(batch))))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: loss {loss.item():.4f}")
with torch.no_grad():
    codes = F.normalize(encoder(data.flatten(1)), dim=1).numpy()
knn = KNeighborsClassifier(5).fit(codes[:1400], digits.target[:1400])
print("nearest neighbours", round(knn.score(codes[1400:], digits.target[1400:]), 3))
