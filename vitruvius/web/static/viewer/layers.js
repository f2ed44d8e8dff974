/**
 * The parts of a layer: linear map, layer norm, activations. Sums are float64, results float32.
 *
 * Matrices are rows after one another in a Float32Array. Shapes: N tokens, D width.
 */

/** @typedef {{weight: Float32Array, bias: Float32Array | null}} Linear */

/**
 * Map every row: y = W x + b with W of shape (outputs, inputs).
 * @param {Float32Array} x (rows, inputs)
 * @param {Linear} map
 * @param {number} inputs
 * @param {number} outputs
 * @returns {Float32Array} (rows, outputs)
 */
export function linear(x, map, inputs, outputs) {
  const rows = x.length / inputs;
  const y = new Float32Array(rows * outputs);
  const { weight, bias } = map;
  for (let output = 0; output < outputs; output++) {
    const start = bias ? bias[output] : 0;
    const w = output * inputs;
    let row = 0;
    // Four rows at a time read a weight once.
    for (; row + 4 <= rows; row += 4) {
      const x0 = row * inputs;
      const x1 = x0 + inputs;
      const x2 = x1 + inputs;
      const x3 = x2 + inputs;
      let [s0, s1, s2, s3] = [start, start, start, start];
      for (let i = 0; i < inputs; i++) {
        const value = weight[w + i];
        s0 += value * x[x0 + i];
        s1 += value * x[x1 + i];
        s2 += value * x[x2 + i];
        s3 += value * x[x3 + i];
      }
      const at = row * outputs + output;
      y[at] = s0;
      y[at + outputs] = s1;
      y[at + 2 * outputs] = s2;
      y[at + 3 * outputs] = s3;
    }
    for (; row < rows; row++) {
      let sum = start;
      for (let i = 0; i < inputs; i++) sum += weight[w + i] * x[row * inputs + i];
      y[row * outputs + output] = sum;
    }
  }
  return y;
}

/**
 * Layer norm (Ba et al. 2016) of every row.
 * @param {Float32Array} x (rows, width)
 * @param {Linear} norm
 * @param {number} width
 * @param {number} eps
 * @returns {Float32Array}
 */
export function layerNorm(x, norm, width, eps) {
  const y = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += width) {
    let mean = 0;
    for (let i = 0; i < width; i++) mean += x[at + i];
    mean /= width;
    let variance = 0;
    for (let i = 0; i < width; i++) variance += (x[at + i] - mean) ** 2;
    const scale = 1 / Math.sqrt(variance / width + eps);
    for (let i = 0; i < width; i++) y[at + i] = (x[at + i] - mean) * scale * norm.weight[i] + norm.bias[i];
  }
  return y;
}

/**
 * The error function, by the series erf(x) = 2/sqrt(pi) exp(-x^2) sum_n 2^n x^(2n+1) / (1 * 3 * ... * (2n+1)).
 * @param {number} x
 * @returns {number}
 */
export function erf(x) {
  if (Math.abs(x) > 5) return Math.sign(x);
  let term = x;
  let sum = x;
  for (let n = 1; Math.abs(term) > 1e-12 * Math.abs(sum); n++) {
    term *= (2 * x * x) / (2 * n + 1);
    sum += term;
  }
  return (2 / Math.sqrt(Math.PI)) * Math.exp(-x * x) * sum;
}

/** Every activation that an Arch can name. @type {Object<string, (x: number) => number>} */
export const ACTIVATIONS = {
  gelu: (x) => 0.5 * x * (1 + erf(x / Math.SQRT2)),
  gelu_tanh: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  relu: (x) => Math.max(0, x),
  silu: (x) => x / (1 + Math.exp(-x)),
};

/**
 * Softmax of a list of numbers.
 * @param {ArrayLike<number>} scores
 * @returns {number[]}
 */
export function softmax(scores) {
  const values = Array.from(scores);
  const top = values.reduce((most, score) => Math.max(most, score), -Infinity);
  const powers = values.map((score) => Math.exp(score - top));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / total);
}
