/**
 * A network that this browser computes, as the source of a viewer; viewer.js says what a source is.
 *
 * What a source gives is small: an answer and the weights of attention for every image, the numbers behind one
 * token of one head when they are asked for.
 */

import { forward } from "./network.js";
import { readNetwork } from "./weights.js";

/** @typedef {import("./network.js").Changes} Changes */

/**
 * What is known about a network.
 * @typedef {import("./weights.js").About & {images: Float32Array[]}} Description
 */

/**
 * The answer to an image.
 * @typedef {Object} Answer
 * @property {Float32Array} logits (K)
 * @property {Float32Array[]} attention per layer: the weight of every key for every query, (H, N, N)
 */

/**
 * The numbers behind one token of one head.
 * @typedef {Object} Detail
 * @property {Float32Array} x the token after the layer's first norm, (D)
 * @property {Float32Array} q its query, (E)
 * @property {Float32Array[]} keys of all tokens, (E) each
 * @property {Float32Array[]} values of all tokens, (E) each
 * @property {Float32Array} weights (N)
 * @property {Float32Array} mixed the weighted sum of the values, (E)
 * @property {Float32Array} output of all heads after their last map: what is added to the token, (D)
 */

/**
 * A source that computes in this browser.
 * @param {ArrayBuffer} file a network's file
 */
export function browserSource(file) {
  const { about, network, images } = readNetwork(file);
  const { arch, mean, std } = about;
  const side = arch.image ** 2;

  const trace = (pixels, changes) => {
    const normal = Float32Array.from(pixels, (value, index) => {
      const channel = Math.floor(index / side);
      return (value - mean[channel]) / std[channel];
    });
    return forward(network, normal, changes);
  };

  return {
    /** @returns {Promise<Description>} */
    async describe() {
      return { ...about, images };
    },
    /** @param {Float32Array} pixels @param {Changes} changes @returns {Promise<Answer>} */
    async forward(pixels, changes) {
      const { logits, layers } = trace(pixels, changes);
      return { logits, attention: layers.map((layer) => layer.attention) };
    },
    /**
     * @param {Float32Array} pixels
     * @param {Changes} changes
     * @param {{layer: number, head: number, token: number}} at
     * @returns {Promise<Detail>}
     */
    async detail(pixels, changes, at) {
      return detailOf(arch, trace(pixels, changes).layers[at.layer], at);
    },
  };
}

/**
 * Read the file of a network over HTTP as a source.
 * @param {string} address
 */
export async function fetchSource(address) {
  const response = await fetch(address);
  if (!response.ok) throw new Error(`The network could not be loaded (${response.status}).`);
  return browserSource(await response.arrayBuffer());
}

/** One token of one head of a layer. @returns {Detail} */
function detailOf(arch, trace, { layer, head, token }) {
  const { heads, head_dim: dim } = arch.layers[layer];
  const inner = heads * dim;
  const part = (at, which) =>
    trace.qkv.slice((at * 3 + which) * inner + head * dim, (at * 3 + which) * inner + (head + 1) * dim);
  const tokens = Array.from({ length: arch.tokens }, (_, index) => index);
  const row = (head * arch.tokens + token) * arch.tokens;
  return {
    x: trace.input.slice(token * arch.width, (token + 1) * arch.width),
    q: part(token, 0),
    keys: tokens.map((at) => part(at, 1)),
    values: tokens.map((at) => part(at, 2)),
    weights: trace.attention.slice(row, row + arch.tokens),
    mixed: trace.mixed.slice(token * inner + head * dim, token * inner + (head + 1) * dim),
    output: trace.output.slice(token * arch.width, (token + 1) * arch.width),
  };
}
