/**
 * What attention weights say: mean over heads, rollout, what one token sees, distance.
 *
 * The same as vitruvius/nn/attention_maps.py. Shapes: H heads, N tokens, n patches.
 */

/** @typedef {import("./weights.js").Arch} Arch */

/** Stands for all patches together, where a token is asked for: what a head that reads their mean sees. */
export const ALL_PATCHES = -1;

/**
 * The largest number; Math.max takes as many arguments as fit on the stack, which a large matrix does not.
 * @param {ArrayLike<number>} values
 */
export function largest(values) {
  let most = -Infinity;
  for (let i = 0; i < values.length; i++) if (values[i] > most) most = values[i];
  return most;
}

/**
 * The weights of one head.
 * @param {Float32Array} attention (H, N, N)
 * @param {number} head
 * @param {number} tokens
 * @returns {Float32Array} (N, N)
 */
export function headMap(attention, head, tokens) {
  return attention.subarray(head * tokens ** 2, (head + 1) * tokens ** 2);
}

/**
 * The mean over the heads.
 * @param {Float32Array} attention (H, N, N)
 * @param {number} tokens
 * @returns {Float32Array} (N, N)
 */
export function meanMap(attention, tokens) {
  const size = tokens ** 2;
  const heads = attention.length / size;
  return Float32Array.from({ length: size }, (_, index) => {
    let total = 0;
    for (let head = 0; head < heads; head++) total += attention[head * size + index];
    return total / heads;
  });
}

/**
 * Attention rollout (Abnar and Zuidema 2020): the product over the layers of (mean over heads + identity) / 2.
 * @param {Float32Array[]} attention per layer (H, N, N)
 * @param {number} tokens
 * @returns {Float32Array} (N, N)
 */
export function rollout(attention, tokens) {
  let flow = Float32Array.from({ length: tokens ** 2 }, (_, index) => (index % (tokens + 1) === 0 ? 1 : 0));
  for (const layer of attention) {
    const mixed = meanMap(layer, tokens);
    for (let row = 0; row < tokens; row++) {
      mixed[row * tokens + row] += 1;
      let total = 0;
      for (let key = 0; key < tokens; key++) total += mixed[row * tokens + key];
      for (let key = 0; key < tokens; key++) mixed[row * tokens + key] /= total;
    }
    flow = product(mixed, flow, tokens);
  }
  return flow;
}

/**
 * The weights that one token gives, or the mean over all patches.
 * @param {Float32Array} map (N, N)
 * @param {Arch} arch
 * @param {number} token
 * @returns {Float32Array} (N)
 */
export function seenBy(map, arch, token) {
  const { tokens } = arch;
  if (token !== ALL_PATCHES) return map.slice(token * tokens, (token + 1) * tokens);
  const first = tokens - arch.patches;
  return Float32Array.from({ length: tokens }, (_, key) => {
    let total = 0;
    for (let row = first; row < tokens; row++) total += map[row * tokens + key];
    return total / arch.patches;
  });
}

/**
 * Mean distance in pixels between a patch and what it looks at (Dosovitskiy et al. 2021, figure 7).
 * @param {Float32Array} map (N, N)
 * @param {Arch} arch
 * @returns {number} the class token is left out; 0 if no patch looks at a patch
 */
export function distance(map, arch) {
  const rows = arch.image / arch.patch;
  const first = arch.tokens - arch.patches;
  let [mean, count] = [0, 0];
  for (let from = 0; from < arch.patches; from++) {
    let [weighted, total] = [0, 0];
    for (let to = 0; to < arch.patches; to++) {
      const weight = map[(first + from) * arch.tokens + first + to];
      const down = Math.floor(from / rows) - Math.floor(to / rows);
      weighted += weight * Math.hypot(down, (from % rows) - (to % rows));
      total += weight;
    }
    // A patch that is switched off looks nowhere, and does not count.
    if (total === 0) continue;
    mean += weighted / total;
    count += 1;
  }
  return count ? (arch.patch * mean) / count : 0;
}

/** @param {Float32Array} a @param {Float32Array} b @param {number} size */
function product(a, b, size) {
  const found = new Float32Array(size ** 2);
  for (let row = 0; row < size; row++) {
    for (let key = 0; key < size; key++) {
      let total = 0;
      for (let i = 0; i < size; i++) total += a[row * size + i] * b[i * size + key];
      found[row * size + key] = total;
    }
  }
  return found;
}
