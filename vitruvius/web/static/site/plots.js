/** Draw the plots of a page with plotly; each element holds its data and layout as JSON. */

const SETTINGS = { displaylogo: false, responsive: true };

/** Draw or redraw one plot. */
export function draw(element, plot) {
  if (!window.Plotly) return;
  element.removeAttribute("data-plot");
  const layout = { ...plot.layout, autosize: true, uirevision: "kept" };
  window.Plotly.react(element, plot.data, layout, SETTINGS);
}

/** Draw all plots of an element that can be seen and are not drawn yet. */
export function drawAll(root = document) {
  for (const element of root.querySelectorAll(".plot[data-plot]")) {
    if (element.closest("[hidden]") === null) draw(element, JSON.parse(element.dataset.plot));
  }
}

if (document.readyState === "complete" || window.Plotly) drawAll();
else window.addEventListener("load", () => drawAll());
