/** How scores become weights, with real numbers: two steps for softmax, one for the other kernels. */

import { percent } from "./dom.js";
import { largest } from "./maps.js";
import { bold, formula, fraction, lines, number, plus, power, root, row, sub, transposed } from "./mathml.js";
import { KEYS } from "./steps.js";

const LARGE = 10; // from here on a score's exponential has too many digits to be read

/** How scores become weights: two steps for softmax, one for other kernels. */
export function weightSteps(kernel) {
  return {
    softmax: [divisionStep, softmaxStep],
    graph: [divisionStep, softmaxStep],
    hardmax: [hardmaxStep],
    linear: [linearStep],
    quadratic: [quadraticStep],
  }[kernel];
}

function scaleOf({ detail, beta }) {
  return beta / Math.sqrt(detail.q.length);
}

function divisionStep(board) {
  const { detail, best, products, beta } = board;
  const dim = detail.q.length;
  const factor = () =>
    beta === 1 ? fraction("1", root(dim + "")) : row(number(beta), "·", fraction("1", root(dim + "")));
  const line = (token, index) =>
    row(
      sub("s", index + 1),
      "=",
      factor(),
      "·",
      number(products[token], true),
      "=",
      products[token] * scaleOf(board),
    );
  const changed =
    beta === 1
      ? ""
      : ` You have multiplied the inverse temperature by ${beta === Infinity ? "infinity" : beta.toPrecision(2)}.`;
  return {
    title: "The division",
    lesson: "scaling",
    words: `Long vectors make large products; dividing by the root of their length keeps the scores moderate.${changed}`,
    maths: [
      beta === Infinity
        ? formula(sub("s", "j"), "=", "∞", "·", transposed(bold("q", "i")), bold("k", "j"))
        : lines(...best.slice(0, KEYS).map(line)),
    ],
  };
}

function softmaxStep(board) {
  const { detail, best, products, beta } = board;
  const said = { title: "Softmax", lesson: "temperature" };
  const weight = (token) => number(detail.weights[token]);
  const shown = best.slice(0, KEYS);
  if (beta === Infinity) {
    const parts = shown.flatMap((token, index) => [sub("w", index + 1), "=", weight(token), ",  "]);
    const words = "At an infinite inverse temperature all weight goes to the best key.";
    return { ...said, words, maths: [formula(...parts, "…")] };
  }
  const scores = best.map((token) => products[token] * scaleOf(board));
  const shift = largest(scores) > LARGE ? largest(scores) : 0;
  const powers = scores.map((score) => Math.exp(score - shift));
  const total = powers.reduce((sum, value) => sum + value, 0);
  const term = (_, index) => power("e", shift ? row(scores[index], "−", shift) : number(scores[index]));
  const line = (token, index) =>
    row(
      sub("w", index + 1),
      "=",
      fraction(term(token, index), plus(best.map(term), KEYS)),
      "=",
      fraction(number(powers[index]), number(total)),
      "=",
      weight(token),
    );
  return {
    ...said,
    maths: [lines(...shown.map(line))],
    words: `Exponentials make every score positive; divided by their sum they are weights.${shift ? " The largest score is subtracted first, which changes no weight." : ""} The largest is ${percent(detail.weights[best[0]])}.`,
  };
}

function hardmaxStep({ detail, best }) {
  return {
    title: "The best key",
    lesson: "argmax_attention",
    words: "All weight goes to the key with the largest score.",
    maths: [formula(sub("w", 1), "=", number(detail.weights[best[0]]))],
  };
}

/** Weights that are shares of similarities; `share` writes the fraction of one. */
function shareStep({ detail, best }, words, share) {
  const line = (token, index) =>
    row(sub("w", index + 1), "=", share(token, index), "=", number(detail.weights[token]));
  return {
    title: "The weights",
    lesson: "kernel_attention",
    words: `Instead of exponentials of products: ${words}`,
    maths: [lines(...best.slice(0, KEYS).map(line))],
  };
}

function linearStep(board) {
  const product = (key) => ["φ", "(", bold("q", "i"), ")", "·", "φ", "(", bold("k", key), ")"];
  const share = (_, index) => fraction(row(...product(index + 1)), row("∑", ...product("j")));
  return shareStep(board, "products of positive features, φ(x) = elu(x) + 1.", share);
}

function quadraticStep(board) {
  const { best, products } = board;
  const square = (token) => power(row("(", number(products[token]), "+", "1", ")"), row("2"));
  const share = (token) => fraction(square(token), plus(best.map(square), 2));
  return shareStep(board, "the square of the product plus one.", share);
}
