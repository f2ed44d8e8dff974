import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(17)


class SmallViT(nn.Module):
    def __init__(self, patch=2, dim=32, depth=2, classes=10):
        super().__init__()
        self.patch = patch
        self.project = nn.Linear(patch * patch, dim)
        self.positions = nn.Embedding(64, dim)
        nn.init.normal_(self.positions.weight, std=0.1)
        layer = nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, images):
        p = self.patch
        patches = images.unfold(1, p, p).unfold(2, p, p).flatten(3).flatten(1, 2)
        x = self.project(patches)
        places = torch.arange(x.shape[0]).unsqueeze(1).expand(-1, x.shape[1])
        x = x + self.positions(places)
        return self.head(self.norm(self.encoder(x)).mean(1))


def main():
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32) / 8 - 1
    labels = torch.tensor(digits.target)
    loader = DataLoader(TensorDataset(images[:1400], labels[:1400]), batch_size=50, shuffle=True)
    model = SmallViT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for epoch in range(5):
        model.train()
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        hits = 0
        with torch.no_grad():
            for x, y in zip(images[1400:].split(50), labels[1400:].split(50)):
                hits += (model(x).argmax(1) == y).sum().item()
        print(f"epoch {epoch}: loss {loss.item():.3f} accuracy {hits / 397:.3f}")


if __name__ == "__main__":
    main()
