/** Mount the viewer on the network of this page, computed by the browser or by the server. */

import { h } from "../viewer/dom.js";
import { fetchSource } from "../viewer/source.js";
import { mount } from "../viewer/viewer.js";
import { serverSource } from "./server_source.js";

/** The address of a lesson with these numbers. */
function lesson(name, fields) {
  const numbers = new URLSearchParams();
  for (const [field, value] of Object.entries(fields)) {
    numbers.set(field, typeof value === "string" ? value : JSON.stringify(value));
  }
  const asked = numbers.toString();
  return `/lessons/${name}${asked ? `?${asked}` : ""}`;
}

const element = document.getElementById("viewer");
if (element) {
  try {
    const { network, where } = element.dataset;
    const source = where === "server" ? serverSource(network) : await fetchSource(`${network}/network`);
    await mount(element, { source, lesson });
  } catch (error) {
    element.replaceChildren(h("p", { class: "error", role: "alert" }, error.message));
  }
}
document.getElementById("run").addEventListener("change", (event) => event.target.form.requestSubmit());
