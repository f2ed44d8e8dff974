import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from torch import nn

torch.manual_seed(3)
x, y = make_classification(
    n_samples=2000, n_features=12, n_informative=6, weights=[0.9, 0.1], class_sep=0.8, random_state=3
)
x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, stratify=y, random_state=3)
mu, sd = x_train.mean(0), x_train.std(0)
x_train = torch.tensor((x_train - mu) / sd, dtype=torch.float32)
x_test = torch.tensor((x_test - mu) / sd, dtype=torch.float32)


def class_weights(labels):
    counts = np.bincount(labels)
    weights = counts / counts.sum()
    return torch.tensor(weights * len(counts), dtype=torch.float32)


criterion = nn.CrossEntropyLoss(weight=class_weights(y_train))
y_train = torch.tensor(y_train)
model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(8):
    model.train()
    for idx in torch.randperm(len(x_train)).split(50):
        optimizer.zero_grad()
        loss = criterion(model(x_train[idx]), y_train[idx])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        guess = model(x_test).argmax(1).numpy()
    print(f"epoch {epoch}: loss {loss.item():.4f} balanced accuracy {balanced_accuracy_score(y_test, guess):.3f}")
