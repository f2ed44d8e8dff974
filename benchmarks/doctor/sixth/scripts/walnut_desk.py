import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split


class DeskClassifier:
    """Scikit-like wrapper around a small network."""

    def __init__(self, n_features, n_classes, epochs=20, lr=4e-3, seed=0):
        torch.manual_seed(seed)
        self.epochs = epochs
        self.model = nn.Sequential(
            nn.Linear(n_features, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Dropout(0.5), nn.Linear(96, n_classes)
        )
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=lr)
        self.criterion = nn.CrossEntropyLoss()

    def fit(self, train_loader, val_loader):
        self.model.train()
        for epoch in range(self.epochs):
            total = 0.0
            for x, y in train_loader:
                self.optimizer.zero_grad()
                loss = self.criterion(self.model(x), y)
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            print(f"epoch {epoch}: {total / len(train_loader):.4f}, val {self.validate(val_loader):.3f}")
        return self

    def validate(self, loader):
        self.model.eval()
        hits = n = 0
        with torch.no_grad():
            for x, y in loader:
                hits += (self.model(x).argmax(1) == y).sum().item()
                n += len(y)
        return hits / n


torch.manual_seed(8)
features = torch.randn(900, 14)
labels = (features[:, :3].sum(1) > 0).long() + 2 * (features[:, 3:6].sum(1) > 0).long()
labels = torch.where(torch.rand(900) < 0.25, torch.randint(0, 4, (900,)), labels)
train_set, val_set = random_split(TensorDataset(features, labels), [300, 600])
DeskClassifier(14, 4).fit(
    DataLoader(train_set, batch_size=30, shuffle=True), DataLoader(val_set, batch_size=100)
)
