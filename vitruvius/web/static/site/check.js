/** Check a student's values without leaving the page: the verdict appears above the form, what was typed stays. */

const form = document.getElementById("answers");
let asked = 0;

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const number = ++asked;
  const verdict = document.getElementById("verdict");
  let found;
  try {
    const body = new URLSearchParams(new FormData(form));
    const response = await fetch(location.href, { method: "POST", body, headers: { Accept: "text/html" } });
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    found = page.getElementById("verdict");
    if (!found) throw new Error(page.querySelector(".lead")?.textContent ?? "");
  } catch (error) {
    if (number === asked) verdict.textContent = error.message || "The server does not answer: is it still running?";
    return;
  }
  if (number !== asked) return; // a later one is being checked
  verdict.replaceChildren(...document.adoptNode(found).childNodes);
  verdict.scrollIntoView({ block: "nearest" });
});
