/** Draw the plots of a page with plotly; each element holds its data and layout as JSON. */

const SETTINGS = { displaylogo: false, responsive: true, showSendToCloud: false }; // no button sends plots elsewhere
const NARROW = 480; // pixels below which the names of curves stand under the plot, not beside it

/** Draw or redraw one plot. */
export function draw(element, plot) {
  if (!window.Plotly) return;
  element.removeAttribute("data-plot");
  const legend = element.clientWidth < NARROW ? { legend: { orientation: "h", y: -0.3 } } : {};
  const layout = { ...plot.layout, ...legend, autosize: true, uirevision: "kept" };
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
