/** Search the list of lessons while a person types; the address keeps the words. */

const input = document.getElementById("search");
const none = document.getElementById("none");
const sections = [...document.querySelectorAll(".subject")];

function show() {
  const words = input.value.toLowerCase().replaceAll("_", " ").split(/\s+/).filter(Boolean);
  let found = 0;
  for (const section of sections) {
    const subject = section.querySelector("h2").textContent;
    let any = false;
    for (const item of section.querySelectorAll("li")) {
      const text = `${item.textContent} ${subject}`.toLowerCase();
      item.hidden = !words.every((word) => text.includes(word));
      any ||= !item.hidden;
      found += !item.hidden;
    }
    section.hidden = !any;
  }
  none.hidden = found > 0;
  const address = new URL(location.href);
  if (input.value) address.searchParams.set("search", input.value);
  else address.searchParams.delete("search");
  history.replaceState(null, "", address);
}

input.addEventListener("input", show);
