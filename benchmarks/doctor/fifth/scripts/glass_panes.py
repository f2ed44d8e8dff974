import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from torch import nn

torch.manual_seed(31)
x, y = make_classification(
    n_samples=1600, n_features=16, n_informative=10, n_classes=4, class_sep=1.3, random_state=31
)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.25, random_state=31)
mu, sigma = x_train.mean(0), x_train.std(0)
x_train = torch.tensor((x_train - mu) / sigma, dtype=torch.float32)
x_test = torch.tensor((x_test - mu) / sigma, dtype=torch.float32)
y_train, y_test = torch.tensor(y_train), torch.tensor(y_test)

model = nn.Sequential(
    nn.Linear(16, 96),
    nn.BatchNorm1d(96),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(96, 96),
    nn.ReLU(),
    nn.Dropout(0.5),
    nn.Linear(96, 4),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()


def test():
    right = 0
    with torch.no_grad():
        for xb, yb in zip(x_test.split(40), y_test.split(40)):
            right += (model(xb).argmax(dim=1) == yb).sum().item()
    return right / len(x_test)


for epoch in range(8):
    model.train()
    running_loss = 0.0
    for idx in torch.randperm(len(x_train)).split(40):
        optimizer.zero_grad()
        loss = criterion(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
        running_loss += loss.item() * len(idx)
    print(f"[{epoch}] loss {running_loss / len(x_train):.3f} test {test():.3f}")
