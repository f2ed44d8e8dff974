/**
 * How attention weighs the keys of one query: the kernels that an Arch can name.
 *
 * Each takes the products q.k of a query with the keys that it may see, and gives weights that sum to 1. `beta` is
 * the inverse temperature as a multiple of the usual 1/sqrt(E), from 0 (the mean) to Infinity (the best key).
 * Shapes: E head width.
 */

/**
 * @typedef {Object} Query
 * @property {number[]} products q.k for every visible key
 * @property {Float32Array} q (E)
 * @property {Float32Array[]} keys the visible keys, (E) each
 * @property {number} beta
 */

/** Softmax, with the weight split evenly among the best keys where beta is infinite. @param {Query} query */
function softmaxWeights({ products, q, beta }) {
  const top = Math.max(...products);
  const scale = beta / Math.sqrt(q.length);
  const power = (product) => {
    if (beta === Infinity) return product === top ? 1 : 0;
    return Math.exp((product - top) * scale);
  };
  return normalised(products.map(power));
}

/** All weight on the first of the best keys. @param {Query} query */
function hardmaxWeights({ products }) {
  const best = products.indexOf(Math.max(...products));
  return products.map((_, index) => (index === best ? 1 : 0));
}

/** Products of the positive features elu(x) + 1 (Katharopoulos et al. 2020). @param {Query} query */
function linearWeights({ q, keys }) {
  const feature = (x) => (x > 0 ? x + 1 : Math.exp(x));
  const features = Array.from(q, feature);
  return normalised(keys.map((key) => features.reduce((sum, value, i) => sum + value * feature(key[i]), 0)));
}

/** (q.k + 1)^2. @param {Query} query */
function quadraticWeights({ products }) {
  return normalised(products.map((product) => (product + 1) ** 2));
}

/** @param {number[]} values */
function normalised(values) {
  const total = values.reduce((sum, value) => sum + value, 0);
  return values.map((value) => (total > 0 ? value / total : 0));
}

/** Kernels by name. @type {Object<string, (query: Query) => number[]>} */
export const KERNELS = {
  softmax: softmaxWeights,
  graph: softmaxWeights, // over the complete graph the two are the same
  hardmax: hardmaxWeights,
  linear: linearWeights,
  quadratic: quadraticWeights,
};

/** Kernels that have a temperature. */
export const WITH_BETA = ["softmax", "graph"];
