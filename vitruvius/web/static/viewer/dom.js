/** Build elements: `h("p", {class: "note"}, "words", child)`. Texts are text, never markup. */

/**
 * @param {string} tag
 * @param {Object<string, any>} attributes `onclick` and the like are listeners; null and false are left out
 * @param {...(Node | string | number | null)} children
 * @returns {any}
 */
export function h(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

const MATHML = "http://www.w3.org/1998/Math/MathML";

/** An element of MathML. @param {string} tag @param {Object<string, any>} attributes @param {...any} children */
export function m(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(MATHML, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children
      .flat()
      .filter((child) => child !== null && child !== undefined)
      .map((child) => (child instanceof Node ? child : String(child))),
  );
  return element;
}

/** A number for people: 98.2 %. @param {number} fraction */
export function percent(fraction) {
  if (fraction > 0.9995 && fraction < 1) return "> 99.9 %";
  return `${(100 * fraction).toFixed(1)} %`;
}
