/**
 * The forward pass of a Vision Transformer, with everything that it computes on the way.
 *
 * The same as vitruvius/nn/vit.py in evaluation mode: patches, linear map, class token, positions, pre-norm
 * layers, last norm, pooling, head. Shapes: C channels, P patch side, n patches, N tokens, D width, H heads,
 * E head width, K classes.
 */

import { ACTIVATIONS, layerNorm, linear } from "./layers.js";
import { KERNELS } from "./kernels.js";

/**
 * What is changed in the computation; NO_CHANGES is the network as it was trained.
 * @typedef {Object} Changes
 * @property {number[]} hidden patches that are switched off: no token sees them, and they are not pooled
 * @property {number[] | null} order which patch stands at each place; null: each at its own
 * @property {boolean} positions whether positions are added
 * @property {number} beta inverse temperature of every head as a multiple of 1/sqrt(E): 0 to Infinity
 */

/** @type {Changes} */
export const NO_CHANGES = Object.freeze({ hidden: [], order: null, positions: true, beta: 1 });

/**
 * What one layer computes.
 * @typedef {Object} LayerTrace
 * @property {Float32Array} input the normed tokens, (N, D)
 * @property {Float32Array} qkv queries, keys and values, (N, 3, H, E)
 * @property {Float32Array} attention the weight of every key for every query, (H, N, N)
 * @property {Float32Array} mixed the weighted sums of all heads side by side, (N, H, E)
 * @property {Float32Array} output what attention adds to the tokens, (N, D)
 */

/** @typedef {{logits: Float32Array, layers: LayerTrace[]}} Trace */

/**
 * Compute the scores of an image.
 * @param {import("./weights.js").Network} network
 * @param {Float32Array} pixels (C, H, W), normalised as the training images were
 * @param {Changes} changes
 * @returns {Trace}
 */
export function forward(network, pixels, changes = NO_CHANGES) {
  const { arch } = network;
  const visible = visibleTokens(arch, changes);
  /** @type {Float32Array} */
  let tokens = embed(network, pixels, changes);
  const layers = [];
  for (const layer of network.layers) {
    const trace = attend(arch, layer, tokens, visible, changes);
    tokens = sum(tokens, trace.output);
    tokens = sum(tokens, mlp(arch, layer, tokens));
    layers.push(trace);
  }
  if (arch.final_norm === "tokens") tokens = layerNorm(tokens, network.norm, arch.width, arch.norm_eps);
  let pooled = pool(arch, tokens, visible);
  if (arch.final_norm === "pooled") pooled = layerNorm(pooled, network.norm, arch.width, arch.norm_eps);
  return { logits: linear(pooled, network.head, arch.width, arch.classes), layers };
}

/**
 * The patches of an image in reading order, each as channel, row, column.
 * @param {import("./weights.js").Arch} arch
 * @param {Float32Array} pixels (C, H, W)
 * @returns {Float32Array} (n, C P P)
 */
export function patches(arch, pixels) {
  const { image, patch, channels } = arch;
  const rows = image / patch;
  const found = new Float32Array(pixels.length);
  let at = 0;
  for (let place = 0; place < rows * rows; place++) {
    const top = Math.floor(place / rows) * patch;
    const left = (place % rows) * patch;
    for (let channel = 0; channel < channels; channel++) {
      for (let y = 0; y < patch; y++) {
        const start = (channel * image + top + y) * image + left;
        found.set(pixels.subarray(start, start + patch), at);
        at += patch;
      }
    }
  }
  return found;
}

/** The tokens of an image, with positions: (N, D). */
function embed(network, pixels, changes) {
  const { arch } = network;
  const size = arch.channels * arch.patch ** 2;
  const cut = patches(arch, pixels);
  const ordered = new Float32Array(cut.length);
  for (let place = 0; place < arch.patches; place++) {
    const patch = changes.order ? changes.order[place] : place;
    ordered.set(cut.subarray(patch * size, (patch + 1) * size), place * size);
  }
  const mapped = linear(ordered, network.patchMap, size, arch.width);
  const tokens = new Float32Array(arch.tokens * arch.width);
  if (network.classToken) tokens.set(network.classToken);
  tokens.set(mapped, tokens.length - mapped.length);
  return network.positions && changes.positions ? sum(tokens, network.positions) : tokens;
}

/** Whether each token takes part. @returns {boolean[]} */
function visibleTokens(arch, changes) {
  const first = arch.class_token ? 1 : 0;
  const visible = new Array(arch.tokens).fill(true);
  for (const patch of changes.hidden) visible[first + patch] = false;
  return visible;
}

/** Attention of one layer. @returns {LayerTrace} */
function attend(arch, layer, tokens, visible, changes) {
  const { heads, headDim } = layer;
  const inner = heads * headDim;
  const input = layerNorm(tokens, layer.norm1, arch.width, arch.norm_eps);
  const qkv = linear(input, layer.qkv, arch.width, 3 * inner);
  const attention = new Float32Array(heads * arch.tokens ** 2);
  const mixed = new Float32Array(arch.tokens * inner);
  const seen = visible.flatMap((isVisible, token) => (isVisible ? [token] : []));
  for (let head = 0; head < heads; head++) {
    const part = (token, which) => {
      const start = token * 3 * inner + which * inner + head * headDim;
      return qkv.subarray(start, start + headDim);
    };
    const keys = seen.map((token) => part(token, 1));
    const values = seen.map((token) => part(token, 2));
    for (const token of seen) {
      const weights = weigh(arch.kernel, part(token, 0), keys, changes.beta);
      const row = (head * arch.tokens + token) * arch.tokens;
      const at = token * inner + head * headDim;
      for (let index = 0; index < seen.length; index++) attention[row + seen[index]] = weights[index];
      mix(weights, values, mixed.subarray(at, at + headDim));
    }
  }
  return { input, qkv, attention, mixed, output: linear(mixed, layer.out, inner, arch.width) };
}

/** The weights of the keys for one query. */
function weigh(kernel, q, keys, beta) {
  const products = keys.map((key) => {
    let product = 0;
    for (let i = 0; i < q.length; i++) product += q[i] * key[i];
    return product;
  });
  return KERNELS[kernel]({ products, q, keys, beta });
}

/** Write the weighted sum of the values into `out`. */
function mix(weights, values, out) {
  for (let i = 0; i < out.length; i++) {
    let total = 0;
    for (let index = 0; index < values.length; index++) total += weights[index] * values[index][i];
    out[i] = total;
  }
}

/** The feed-forward part of one layer. */
function mlp(arch, layer, tokens) {
  const activation = ACTIVATIONS[arch.activation];
  const normed = layerNorm(tokens, layer.norm2, arch.width, arch.norm_eps);
  const hidden = linear(normed, layer.fc1, arch.width, layer.mlp);
  for (let i = 0; i < hidden.length; i++) hidden[i] = activation(hidden[i]);
  return linear(hidden, layer.fc2, layer.mlp, arch.width);
}

/** What the head reads: the class token, or the mean of the visible patch tokens. */
function pool(arch, tokens, visible) {
  const { width } = arch;
  if (arch.pooling === "cls") return tokens.slice(0, width);
  const pooled = new Float32Array(width);
  const first = arch.class_token ? 1 : 0;
  const count = visible.slice(first).filter(Boolean).length || 1;
  for (let i = 0; i < width; i++) {
    let total = 0;
    for (let token = first; token < arch.tokens; token++)
      if (visible[token]) total += tokens[token * width + i];
    pooled[i] = total / count;
  }
  return pooled;
}

/** The sum of two arrays. @param {Float32Array} a @param {Float32Array} b */
function sum(a, b) {
  const total = new Float32Array(a.length);
  for (let i = 0; i < a.length; i++) total[i] = a[i] + b[i];
  return total;
}
