/**
 * The viewer: look inside a Vision Transformer with a picture of your own.
 *
 *     import { mount } from "./viewer/viewer.js";
 *     import { fetchSource } from "./viewer/source.js";
 *     const viewer = await mount(element, { source: await fetchSource(address) });
 *     viewer.remove();
 *
 * `element` is emptied and filled; the page links viewer.css. Nothing else of the page is touched, no style
 * attribute and no inline script is used, so a strict Content-Security-Policy holds (pictures that a person
 * uploads need `img-src blob:`).
 *
 * Options of `mount`:
 *   source   where the network is computed: an object with three asynchronous methods (see below)
 *   lesson   optional, (name, fields) -> address of a lesson with these numbers in its question; `fields` is an
 *            object for a lesson's Question, {} for its own numbers. Without it the viewer shows the command.
 *
 * A source (types: source.js). `browserSource(file)` and `fetchSource(address)` of source.js compute in the browser
 * from the file that vitruvius/web/weights.py writes; a server may answer the same three questions for a network
 * that is too large for that:
 *   describe()                         -> {name, text, command, arch, classes, mean, std, range, labels, images}
 *       arch: the fields of Arch, `layers` as [{heads, head_dim, mlp}], `patches` and `tokens` (as in
 *       weights.py's description); images: Float32Array (C, H, W) each, in `range`, not normalised
 *   forward(pixels, changes)           -> {logits: Float32Array (K), attention: one Float32Array (H, N, N) per layer}
 *   detail(pixels, changes, {layer, head, token})
 *                                      -> {x, q, keys, values, weights, mixed, output}, the numbers of one token
 * `pixels` is a Float32Array (C, H, W) in `range`, not normalised: a source normalises. `changes` is {hidden: patch
 * indices that are switched off, order: which patch stands at each place or null, positions: boolean, beta: a
 * multiple of 1/sqrt(head_dim), 0 to Infinity}; network.js says exactly what each does. All may be rejected with an
 * Error whose message is a sentence: the viewer shows it. Answers that arrive late are dropped.
 */

import { h } from "./dom.js";
import { NO_CHANGES } from "./network.js";
import { showAnswer } from "./answer.js";

/**
 * Show a network in an element.
 * @param {HTMLElement} element
 * @param {{source: any, lesson?: (name: string, fields: Object) => string}} options
 * @returns {Promise<{remove: () => void}>}
 */
export async function mount(element, { source }) {
  const about = await source.describe();
  const answer = h("section", { class: "answer" });
  element.replaceChildren(h("div", { class: "viewer" }, answer));
  const { logits } = await source.forward(about.images[0], NO_CHANGES);
  showAnswer(answer, about, logits, null);
  return { remove: () => element.replaceChildren() };
}
