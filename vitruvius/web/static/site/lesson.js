/** Work a lesson again when a number is changed; the address holds the numbers that are not its own. */

const form = document.getElementById("question");
const PAUSE = 350; // milliseconds after the last key
let timer = 0;
let asked = 0;

/** The address of this lesson with the numbers of the form. */
function address() {
  const found = new URL(location.pathname, location.href);
  for (const field of form.elements) {
    if (field.name && field.value.trim() !== field.dataset.default.trim()) found.searchParams.set(field.name, field.value);
  }
  return found;
}

/** Ask the server, and put its answer and its refusals into this page; what is being typed stays. */
async function work() {
  const number = ++asked;
  const where = address();
  const worked = document.getElementById("worked");
  worked.classList.add("waiting");
  let page;
  try {
    const response = await fetch(where, { headers: { Accept: "text/html" } });
    page = new DOMParser().parseFromString(await response.text(), "text/html");
    if (!page.getElementById("worked")) throw new Error(page.querySelector(".lead")?.textContent ?? "");
  } catch (error) {
    if (number !== asked) return;
    worked.classList.remove("waiting");
    document.getElementById("refusal").textContent = error.message || "The server does not answer: is it still running?";
    return;
  }
  if (number !== asked) return; // a later number is being worked
  history.replaceState(null, "", where);
  worked.replaceWith(document.adoptNode(page.getElementById("worked")));
  for (const refusal of form.querySelectorAll(".refused")) {
    refusal.textContent = page.getElementById(refusal.id)?.textContent ?? "";
  }
  for (const field of form.elements) {
    if (!field.name) continue;
    const refused = document.getElementById(`refusal-${field.name}`).textContent !== "";
    if (refused) field.setAttribute("aria-invalid", "true");
    else field.removeAttribute("aria-invalid");
  }
}

form.addEventListener("input", () => {
  clearTimeout(timer);
  timer = setTimeout(work, PAUSE);
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  clearTimeout(timer);
  work();
});
