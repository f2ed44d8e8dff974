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

import { showChances, showVerdict } from "./answer.js";
import { arithmeticPanel } from "./arithmetic.js";
import { attentionMatrix, headOverview, mapOf, viewName } from "./attention.js";
import { changesPanel, isChanged, swapped, toggled } from "./changes.js";
import { h } from "./dom.js";
import { drawPanel } from "./draw.js";
import { lessonLink } from "./lesson.js";
import { ALL_PATCHES, distance, largest, seenBy } from "./maps.js";
import { NO_CHANGES } from "./network.js";
import { patchGrid } from "./patches.js";
import { readToken, theToken } from "./tokens.js";

/**
 * What the person sees and has chosen.
 * @typedef {Object} State
 * @property {Float32Array} pixels
 * @property {number | null} image an unchanged test image
 * @property {import("./network.js").Changes} changes
 * @property {import("./changes.js").Mode} mode
 * @property {number | null} first the first of two patches to be swapped
 * @property {number} token the token that was clicked
 * @property {number | null} hovered the token under the pointer
 * @property {import("./attention.js").View} view
 * @property {import("./source.js").Answer | null} original
 * @property {import("./source.js").Answer | null} changed
 */

/**
 * Show a network in an element.
 * @param {HTMLElement} element
 * @param {{source: any, lesson?: (name: string, fields: Object) => string}} options
 * @returns {Promise<{remove: () => void}>}
 */
export async function mount(element, { source, lesson }) {
  const frame = h(
    "div",
    { class: "viewer", "aria-busy": "true" },
    h("p", { class: "loading" }, "Loading the network …"),
  );
  element.replaceChildren(frame);
  try {
    const about = await source.describe();
    new Viewer(frame, about, source, lesson).begin();
  } catch (error) {
    frame.replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
  }
  frame.removeAttribute("aria-busy");
  return { remove: () => frame.remove() };
}

/** The parts of a command, between which a line may break. @param {string} command */
function options(command) {
  const parts = command.split(/ (?=--)/);
  return parts.flatMap((part, index) => [index ? " " : "", h("span", { class: "option" }, part)]);
}

/** The panels, and what has been chosen in them. */
class Viewer {
  constructor(frame, about, source, lesson) {
    this.frame = frame;
    this.about = about;
    this.source = source;
    this.lesson = lesson;
    const { arch } = about;
    /** @type {State} */
    this.state = {
      pixels: null,
      image: null,
      changes: NO_CHANGES,
      mode: "look",
      first: null,
      token: readToken(arch),
      hovered: null,
      view: { layer: arch.depth - 1, head: "mean" },
      original: null,
      changed: null,
    };
    this.computed = { pixels: null, changes: NO_CHANGES };
    this.isComputing = false;
    this.makePanels();
  }

  makePanels() {
    const { arch } = this.about;
    const set = (part) => this.set(part);
    this.verdict = h("div", { class: "verdict-bar", role: "status" });
    this.answer = h("section", { class: "answer", "aria-label": "probabilities" });
    this.error = h("p", { class: "error", role: "alert", hidden: true });
    this.draw = drawPanel(
      this.about,
      (picture) => this.recompute(picture),
      (message) => this.fail(message),
    );
    this.patches = patchGrid(this.about, {
      choose: (token, isHover) => set(isHover ? { hovered: token } : { token, hovered: null }),
      click: (patch) => this.clickPatch(patch),
    });
    this.overview = headOverview(arch, (view) => set({ view }));
    this.matrix = attentionMatrix(arch, (token) => set({ token }));
    this.changes = changesPanel(
      arch,
      {
        mode: (mode) => set({ mode, first: null }),
        change: (change) => this.recompute({ changes: change(this.state.changes), first: null }),
      },
      this.lesson,
    );
    this.arithmetic = arithmeticPanel(arch, this, {
      choose: ({ layer, head, token }) => set({ view: { layer, head }, token, hovered: null }),
      fail: (message) => this.fail(message),
    });
    this.looking = h("p", { class: "looking" });
    this.patches.element.addEventListener("pointerleave", () => set({ hovered: null }));
  }

  /** Put the panels in place and take the first picture. */
  begin() {
    const { about } = this;
    this.frame.replaceChildren(
      this.verdict,
      this.error,
      h("div", { class: "top" }, this.draw.element, this.answer),
      h(
        "section",
        { class: "look", "aria-label": "where it looks" },
        h("h2", {}, "Where it looks"),
        this.looking,
        h(
          "div",
          { class: "boards" },
          h(
            "div",
            { class: "board" },
            h("h3", {}, "The picture in patches"),
            this.patches.element,
            lessonLink("patches", this.lesson),
          ),
          h("div", { class: "board" }, h("h3", {}, "Change something"), this.changes.element),
          h("div", { class: "board" }, h("h3", {}, "All layers and heads"), this.overview.element),
          h("div", { class: "board" }, this.matrix.element),
        ),
      ),
      h(
        "section",
        { "aria-label": "arithmetic" },
        h("h2", {}, "One number after the other"),
        this.arithmetic.element,
      ),
      h(
        "footer",
        { class: "about" },
        h(
          "p",
          {},
          h("strong", {}, about.name),
          about.text ? `: ${about.text}` : "",
          about.command ? " " : "",
          about.command ? h("code", {}, ...options(about.command)) : null,
        ),
      ),
    );
    this.draw.choose(0);
  }

  /** Change what is chosen, without computing anew. @param {Partial<State>} part */
  set(part) {
    Object.assign(this.state, part);
    if (this.state.original) this.show();
  }

  /** Do to a patch what the mode says. @param {number} patch */
  clickPatch(patch) {
    const { mode, first, changes } = this.state;
    const { arch } = this.about;
    if (mode === "look") this.set({ token: arch.tokens - arch.patches + patch, hovered: null });
    else if (mode === "off") this.recompute({ changes: toggled(changes, patch) });
    else if (first === null) this.set({ first: patch });
    else this.recompute({ changes: swapped(changes, first, patch, arch.patches), first: null });
  }

  /** Compute the answer to what is chosen; what is chosen meanwhile is computed afterwards, the newest only. */
  async recompute(part) {
    Object.assign(this.state, part);
    if (this.isComputing) return;
    this.isComputing = true;
    try {
      while (this.computed.pixels !== this.state.pixels || this.computed.changes !== this.state.changes)
        await this.compute();
      this.error.hidden = true;
    } catch (error) {
      this.computed = { pixels: null, changes: NO_CHANGES }; // what was shown belongs to an earlier picture
      this.fail(error.message);
    }
    this.isComputing = false;
    if (this.state.original) this.show();
  }

  async compute() {
    const { pixels, changes } = this.state;
    const isSamePicture = this.computed.pixels === pixels;
    this.computed = { pixels, changes };
    await new Promise(requestAnimationFrame);
    const original =
      isSamePicture && this.state.original
        ? this.state.original
        : await this.source.forward(pixels, NO_CHANGES);
    const changed = isChanged(changes) ? await this.source.forward(pixels, changes) : null;
    Object.assign(this.state, { original, changed });
    const [before, after] = [original.logits, changed?.logits ?? null];
    showVerdict(this.verdict, this.about, before, after, this.state.image);
    showChances(this.answer, this.about, before, after);
    this.show();
  }

  fail(message) {
    this.error.textContent = message;
    this.error.hidden = false;
  }

  show() {
    const { state, about } = this;
    const { arch } = about;
    const answer = state.changed ?? state.original;
    const token = state.hovered ?? state.token;
    const map = mapOf(answer, state.view, arch.tokens);
    this.looking.textContent = this.sentence(map, token);
    this.patches.show({
      pixels: state.pixels,
      changes: state.changes,
      token,
      weights: seenBy(map, arch, token),
      first: state.first,
    });
    this.overview.show(answer, token, state.view);
    this.matrix.show(map, token, state.view);
    this.changes.show(state.changes, state.mode, state.first);
    this.arithmetic.show(state.pixels, state.changes, this.place());
  }

  /** Where the chosen token looks, in words. */
  sentence(map, token) {
    const { arch } = this.about;
    const seen = Array.from(seenBy(map, arch, token));
    const best = seen.indexOf(largest(seen));
    const far =
      this.state.view === "rollout"
        ? ""
        : ` There, patches look ${distance(map, arch).toFixed(1)} pixels far on average.`;
    const subject = theToken(arch, token);
    const whose = subject[0].toUpperCase() + subject.slice(1);
    if (!seen[best]) return `${whose} is switched off: it looks nowhere.`;
    return `${whose} ${token === ALL_PATCHES ? "look" : "looks"} most at ${best === token ? "itself" : theToken(arch, best)} (${(100 * seen[best]).toFixed(0)} %) in ${viewName(this.state.view)}.${far}`;
  }

  /** The layer, head and token that the arithmetic speaks of. */
  place() {
    const { view, token } = this.state;
    const { depth, tokens, patches } = this.about.arch;
    const { layer, head } = view === "rollout" ? { layer: depth - 1, head: 0 } : view;
    return {
      layer,
      head: head === "mean" ? 0 : head,
      token: token === ALL_PATCHES ? tokens - patches : token,
    };
  }
}
