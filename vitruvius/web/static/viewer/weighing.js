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
  const weight = (token, index) => [sub("w", index + 1), number(detail.weights[token])];
  if (beta === Infinity) {
    const shown = best
      .slice(0, KEYS)
      .flatMap((token, index) => [weight(token, index)[0], "=", weight(token, index)[1], ",  "]);
    return {
      title: "Softmax",
      lesson: "temperature",
      words: "At an infinite inverse temperature all weight goes to the best key.",
      maths: [formula(...shown, "…")],
    };
  }
  const scores = best.map((token) => products[token] * scaleOf(board));
  const shift = largest(scores) > LARGE ? largest(scores) : 0;
  const powers = scores.map((score) => Math.exp(score - shift));
  const total = powers.reduce((sum, value) => sum + value, 0);
  const term = (_, index) => power("e", shift ? row(scores[index], "−", shift) : number(scores[index]));
  const line = (token, index) =>
    row(
      weight(token, index)[0],
      "=",
      fraction(term(token, index), plus(best.map(term), KEYS)),
      "=",
      fraction(number(powers[index]), number(total)),
      "=",
      weight(token, index)[1],
    );
  return {
    title: "Softmax",
    lesson: "temperature",
    maths: [lines(...best.slice(0, KEYS).map(line))],
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

function linearStep({ detail, best }) {
  const shown = best
    .slice(0, KEYS)
    .map((token, index) =>
      row(
        sub("w", index + 1),
        "=",
        fraction(
          row("φ", "(", bold("q", "i"), ")", "·", "φ", "(", bold("k", index + 1), ")"),
          row("∑", "φ", "(", bold("q", "i"), ")", "·", "φ", "(", bold("k", "j"), ")"),
        ),
        "=",
        number(detail.weights[token]),
      ),
    );
  return {
    title: "The weights",
    lesson: "kernel_attention",
    words: "Instead of exponentials of products: products of positive features, φ(x) = elu(x) + 1.",
    maths: [lines(...shown)],
  };
}

function quadraticStep({ detail, best, products }) {
  const square = (token) => power(row("(", number(products[token]), "+", "1", ")"), row("2"));
  const shown = best
    .slice(0, KEYS)
    .map((token, index) =>
      row(
        sub("w", index + 1),
        "=",
        fraction(square(token), plus(best.map(square), 2)),
        "=",
        number(detail.weights[token]),
      ),
    );
  return {
    title: "The weights",
    lesson: "kernel_attention",
    words: "Instead of exponentials of products: the square of the product plus one.",
    maths: [lines(...shown)],
  };
}
