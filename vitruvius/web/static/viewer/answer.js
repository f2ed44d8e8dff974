/** The answer first: the class in one sentence, then a bar for each class, beside the original if it was changed. */

import { h, percent } from "./dom.js";
import { softmax } from "./layers.js";
import { largest } from "./maps.js";

const MOST = 10; // classes with a bar

/** @typedef {import("./source.js").Description} Description */

/**
 * Say what the network says.
 * @param {HTMLElement} element
 * @param {Description} about
 * @param {Float32Array} logits
 * @param {Float32Array | null} changed the scores after the person's changes, if there are any
 * @param {number | null} image the index of a test image, whose class is known
 */
export function showVerdict(element, about, logits, changed, image) {
  const { before, after } = chances(about, logits, changed);
  const shown = after ?? before;
  const best = bestOf(shown);
  const verdict = h(
    "p",
    { class: "verdict" },
    h("span", { class: "says" }, "The network says "),
    h("strong", { class: "class" }, about.classes[best]),
    " ",
    h("span", { class: "chance" }, percent(shown[best])),
  );
  const truth = image === null ? -1 : about.labels[image];
  const known =
    truth < 0
      ? null
      : h(
          "p",
          { class: truth === best ? "right" : "wrong" },
          `${truth === best ? "Right" : "Wrong"}: the test image shows ${about.classes[truth]}.`,
        );
  const comparison = after ? h("p", { class: "comparison" }, sentence(about.classes, before, after)) : null;
  element.replaceChildren(...[verdict, comparison ?? known].filter(Boolean));
}

/**
 * Show a bar for each class.
 * @param {HTMLElement} element
 * @param {Description} about
 * @param {Float32Array} logits
 * @param {Float32Array | null} changed
 */
export function showChances(element, about, logits, changed) {
  const { before, after } = chances(about, logits, changed);
  element.replaceChildren(bars(about.classes, before, after));
}

/** Probabilities; outputs that no class of the data uses are left out, as `vitruvius predict` does. */
function chances(about, logits, changed) {
  const named = about.classes.length;
  const before = softmax(logits).slice(0, named);
  return { before, after: changed ? softmax(changed).slice(0, named) : null };
}

/** @param {number[]} chances */
function bestOf(chances) {
  return chances.indexOf(largest(chances));
}

/** What the changes did, in words. */
function sentence(classes, before, after) {
  const [was, is] = [bestOf(before), bestOf(after)];
  const original = `Without your changes: ${classes[was]}, ${percent(before[was])}.`;
  if (was !== is) return `${original} They changed the answer.`;
  const moved = 100 * (after[is] - before[is]);
  if (Math.abs(moved) < 0.05) return `${original} They made no difference to it.`;
  return `${original} The answer stays, ${Math.abs(moved).toFixed(1)} points ${moved > 0 ? "surer" : "less sure"}.`;
}

/** A bar per class: all of them, or the most probable if there are many. */
function bars(classes, before, after) {
  const shown = after ?? before;
  let order = classes.map((_, index) => index);
  if (classes.length > MOST) order = order.sort((a, b) => shown[b] - shown[a]).slice(0, MOST);
  const best = bestOf(shown);
  const rows = order.map((index) => {
    const bar = (chance, kind) =>
      h("progress", { class: kind, max: 1, value: chance, "aria-hidden": "true" });
    return h(
      "tr",
      { class: index === best ? "best" : null },
      h("th", { scope: "row" }, classes[index]),
      h("td", { class: "bars" }, bar(shown[index], "now"), after ? bar(before[index], "before") : null),
      h("td", { class: "number" }, percent(shown[index])),
      after ? h("td", { class: "number before" }, percent(before[index])) : null,
    );
  });
  const heads = ["class", "", after ? "changed" : "probability", ...(after ? ["original"] : [])];
  return h(
    "table",
    { class: "chances" },
    h(
      "caption",
      {},
      classes.length > MOST
        ? `The ${MOST} most probable of ${classes.length} classes`
        : "Probability of each class",
    ),
    h(
      "thead",
      { class: after ? null : "hidden" },
      h("tr", {}, ...heads.map((head) => h("th", { scope: "col" }, head))),
    ),
    h("tbody", {}, ...rows),
  );
}
