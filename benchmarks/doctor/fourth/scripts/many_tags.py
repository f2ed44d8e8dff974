import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Tags(Dataset):
    def __init__(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        self.x = torch.randn(n, 18, generator=g)
        rule = torch.randn(18, 7, generator=torch.Generator().manual_seed(1))
        self.y = (self.x @ rule > 4.0).float()

    def __len__(self):
        return len(self.x)

    def __getitem__(self, i):
        return {"features": self.x[i], "tags": self.y[i]}


class TagModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(18, 64), nn.ReLU(), nn.Linear(64, 7))

    def forward(self, features):
        return self.net(features)


def f1(model, loader):
    model.eval()
    hit = said = real = 0.0
    with torch.no_grad():
        for batch in loader:
            guess = model(batch["features"]) > 0
            truth = batch["tags"] > 0.5
            hit += (guess & truth).sum().item()
            said += guess.sum().item()
            real += truth.sum().item()
    return 2 * hit / max(1.0, said + real)


torch.manual_seed(0)
train_set = Tags(2000, 2)
positive = train_set.y.sum(0)
criterion = nn.BCEWithLogitsLoss(pos_weight=(len(train_set) - positive) / positive)
train, held = DataLoader(train_set, batch_size=50, shuffle=True), DataLoader(Tags(400, 3), batch_size=100)
model = TagModel()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(5):
    model.train()
    for batch in train:
        optimizer.zero_grad()
        loss = criterion(model(batch["features"]), batch["tags"])
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch}: f1 {f1(model, held):.3f}")
