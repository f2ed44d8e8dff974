/** Numbers of the viewer as the question of a lesson: a small excerpt of a head for `explain attention`. */

import { h } from "./dom.js";

const KEYS = 3;
const ENTRIES = 8; // of a longer vector the first ones are taken

/**
 * The query of a token with its most attended keys and values.
 * @param {import("./source.js").Detail} detail
 * @param {number[]} best tokens in the order of their weights
 * @returns {{keys: number[][], values: number[][], queries: number[][], step: number, scaled: boolean}}
 */
export function excerpt(detail, best) {
  const short = (vector) =>
    Array.from(vector.slice(0, ENTRIES), (value) => Math.round(100 * value) / 100 || 0);
  const chosen = best.slice(0, KEYS);
  return {
    keys: chosen.map((token) => short(detail.keys[token])),
    values: chosen.map((token) => short(detail.values[token])),
    queries: [short(detail.q)],
    step: 1,
    scaled: true,
  };
}

/**
 * The command that works a lesson with these numbers.
 * @param {string} name
 * @param {Object<string, any>} fields
 */
export function lessonCommand(name, fields) {
  const settings = Object.entries(fields).map(
    ([field, value]) => ` --set '${field}=${JSON.stringify(value)}'`,
  );
  return `vitruvius explain ${name}${settings.join("")}`;
}

/**
 * A link to a lesson, or the command that shows it where no lessons are served.
 * @param {string} name
 * @param {((name: string, fields: Object) => string) | undefined} lesson gives the address of a lesson
 */
export function lessonLink(name, lesson) {
  const words = name.replaceAll("_", " ");
  if (lesson) return h("p", { class: "lesson" }, h("a", { href: lesson(name, {}) }, `Lesson: ${words}`));
  return h("p", { class: "lesson" }, "Lesson: ", h("code", {}, lessonCommand(name, {})));
}
