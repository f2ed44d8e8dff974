import torch
from sklearn.datasets import make_multilabel_classification
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(2)
features, labels = make_multilabel_classification(
    n_samples=1400, n_features=20, n_classes=5, n_labels=2, random_state=2
)
x_train, x_test, y_train, y_test = train_test_split(features, labels, test_size=0.2, random_state=2)
mean, std = x_train.mean(0), x_train.std(0) + 1e-6
to_tensor = lambda a: torch.tensor((a - mean) / std, dtype=torch.float32)
x_train, x_test = to_tensor(x_train), to_tensor(x_test)
y_train, y_test = torch.tensor(y_train).float(), torch.tensor(y_test).float()


class MultiTagger(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, 64), nn.ReLU(), nn.Dropout(0.1))
        self.head = nn.Sequential(nn.Linear(64, n_out), nn.Sigmoid())

    def forward(self, x):
        return self.head(self.body(x))


model = MultiTagger(20, 5)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=40, shuffle=True)

for epoch in range(8):
    model.train()
    running = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        running += loss.item()
    model.eval()
    with torch.no_grad():
        hits = ((model(x_test) > 0.5) == y_test.bool()).float().mean()
    print(f"epoch {epoch}: loss {running / len(loader):.4f}, label accuracy {hits:.3f}")
