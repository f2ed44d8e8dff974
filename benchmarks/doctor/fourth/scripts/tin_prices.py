import torch
import torch.nn as nn

torch.manual_seed(5)
t = torch.arange(1200) * 0.07
signal = torch.sin(t) + 0.5 * torch.sin(2.3 * t) + 0.05 * torch.randn(1200)
windows = signal.unfold(0, 21, 1)
cut = 900
train_x, train_y = windows[:cut, :-1, None], windows[:cut, -1:]
test_x, test_y = windows[cut + 21 :, :-1, None], windows[cut + 21 :, -1:]

lstm = nn.LSTM(1, 32, batch_first=True)
head = nn.Linear(32, 1)
params = [*lstm.parameters(), *head.parameters()]
optimizer = torch.optim.Adam(params, lr=5e-3)


def predict(x):
    return head(lstm(x)[0][:, -1])


for epoch in range(6):
    lstm.train()
    for idx in torch.randperm(cut).split(30):
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(predict(train_x[idx]), train_y[idx])
        loss.backward()
        nn.utils.clip_grad_norm_(params, max_norm=5.0)
        optimizer.step()
    lstm.eval()
    with torch.no_grad():
        print(epoch, f"{nn.functional.mse_loss(predict(test_x), test_y):.4f}")
