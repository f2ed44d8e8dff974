import torch
from sklearn.datasets import make_classification
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import train_test_split
from torch import nn

torch.manual_seed(32)
x, y = make_classification(2000, 14, n_informative=8, weights=[0.92], class_sep=1.2, random_state=7)
x_tr, x_te, y_tr, y_te = train_test_split(x, y, test_size=0.3, stratify=y, random_state=7)
m, s = x_tr.mean(0), x_tr.std(0)
x_tr = torch.tensor((x_tr - m) / s, dtype=torch.float32)
x_te = torch.tensor((x_te - m) / s, dtype=torch.float32)
y_tr = torch.tensor(y_tr, dtype=torch.float32)

pos_weight = (len(y_tr) - y_tr.sum()) / y_tr.sum()
criterion = nn.BCEWithLogitsLoss(pos_weight=pos_weight)
model = nn.Sequential(nn.Linear(14, 32), nn.ReLU(), nn.Linear(32, 1), nn.Flatten(0))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(8):
    model.train()
    total = 0.0
    for idx in torch.randperm(len(x_tr)).split(50):
        optimizer.zero_grad()
        loss = criterion(model(x_tr[idx]), y_tr[idx])
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        guess = (model(x_te) > 0).int().numpy()
    print(f"epoch {epoch}: loss {total / 28:.3f} balanced accuracy {balanced_accuracy_score(y_te, guess):.3f}")
