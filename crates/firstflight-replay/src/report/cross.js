// A line through all charts of a connection at the time under the pointer, and that time in words.
for (const section of document.querySelectorAll("section[data-to]")) {
  const to = Number(section.dataset.to), left = Number(section.dataset.left), right = Number(section.dataset.right), width = Number(section.dataset.width);
  const crosses = section.querySelectorAll(".cross"), time = section.querySelector(".time");
  const show = (event) => {
    const svg = event.target.closest("svg");
    if (!svg) { return hide(); }
    const box = svg.getBoundingClientRect();
    const x = Math.min(Math.max((event.clientX - box.left) * width / box.width, left), right);
    for (const cross of crosses) { cross.setAttribute("x1", x); cross.setAttribute("x2", x); cross.style.visibility = "visible"; }
    time.textContent = ((x - left) / (right - left) * to).toFixed(1) + " ms";
  };
  const hide = () => { for (const cross of crosses) { cross.style.visibility = "hidden"; } time.textContent = ""; };
  section.addEventListener("pointermove", show);
  section.addEventListener("pointerleave", hide);
}
