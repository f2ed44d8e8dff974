import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split
from torch import nn

SEED = 12
rng = np.random.default_rng(SEED)
torch.manual_seed(SEED)

x, y = make_classification(
    n_samples=900, n_features=20, n_informative=6, weights=[0.9], flip_y=0.05, random_state=SEED
)
rare = np.flatnonzero(y == 1)
extra = rng.choice(rare, size=(y == 0).sum() - len(rare))
x = np.concatenate([x, x[extra]])
y = np.concatenate([y, y[extra]])

x_train, x_val, y_train, y_val = train_test_split(x, y, test_size=0.25, random_state=SEED)
mean, std = x_train.mean(0), x_train.std(0)
tensor = lambda a: torch.tensor((a - mean) / std, dtype=torch.float32)
x_train, x_val = tensor(x_train), tensor(x_val)
y_train, y_val = torch.tensor(y_train), torch.tensor(y_val)

model = nn.Sequential(nn.Linear(20, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(10):
    model.train()
    for idx in torch.randperm(len(x_train)).split(40):
        loss = nn.functional.cross_entropy(model(x_train[idx]), y_train[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        guess = model(x_val).argmax(1)
    recall = (guess[y_val == 1] == 1).float().mean()
    print(f"epoch {epoch}: loss {loss.item():.3f} val acc {(guess == y_val).float().mean():.3f} recall {recall:.3f}")
