import random
from collections import deque

import torch
import torch.nn as nn
import torch.nn.functional as F

random.seed(0)
torch.manual_seed(0)
SIZE = 4


def encode(row, col):
    state = torch.zeros(SIZE * SIZE)
    state[row * SIZE + col] = 1
    return state


def move(row, col, action):
    dr, dc = [(-1, 0), (1, 0), (0, -1), (0, 1)][action]
    row, col = min(SIZE - 1, max(0, row + dr)), min(SIZE - 1, max(0, col + dc))
    return row, col, float((row, col) == (SIZE - 1, SIZE - 1))


def net():
    return nn.Sequential(nn.Linear(SIZE * SIZE, 48), nn.ReLU(), nn.Linear(48, 4))


online, target = net(), net()
target.load_state_dict(online.state_dict())
target.requires_grad_(False)
optimizer = torch.optim.Adam(online.parameters(), lr=5e-3)
memory, steps, lengths = deque(maxlen=3000), 0, []
for episode in range(60):
    row = col = 0
    epsilon = max(0.05, 1 - episode / 30)
    for t in range(25):
        state = encode(row, col)
        if random.random() < epsilon:
            action = random.randrange(4)
        else:
            with torch.no_grad():
                action = online(state).argmax().item()
        row, col, reward = move(row, col, action)
        memory.append((state, action, reward, encode(row, col)))
        steps += 1
        if len(memory) >= 100:
            s, a, r, s2 = zip(*random.sample(memory, 32))
            s, s2, a, r = torch.stack(s), torch.stack(s2), torch.tensor(a), torch.tensor(r)
            with torch.no_grad():
                goal = r + 0.9 * (1 - r) * target(s2).amax(1)
            loss = F.mse_loss(online(s).gather(1, a.view(-1, 1)).view(-1), goal)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if steps % 50 == 0:
            target.load_state_dict(online.state_dict())
        if reward:
            break
    lengths.append(t + 1)
    if episode % 15 == 14:
        print(f"episode {episode + 1}: mean length {sum(lengths[-10:]) / 10:.1f}")
