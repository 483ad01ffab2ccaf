"""Pure. The page's script: copies and searches. The page says everything without it."""

SCRIPT = """
"use strict";
const said = document.getElementById("said");
const selected = (node) => {
  const range = document.createRange();
  range.selectNodeContents(node);
  const selection = getSelection();
  selection.removeAllRanges();
  selection.addRange(range);
  return document.execCommand("copy");
};
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.hidden = false;
  button.addEventListener("click", async () => {
    const node = document.getElementById(button.dataset.copy);
    let copied = true;
    try {
      await navigator.clipboard.writeText(node.textContent);
    } catch {
      copied = selected(node);
    }
    button.textContent = copied ? "Copied" : "Press Ctrl-C";
    said.textContent = button.textContent;
    setTimeout(() => { button.textContent = "Copy"; said.textContent = ""; }, 2000);
  });
}
for (const box of document.querySelectorAll(".find")) {
  box.hidden = false;
  const input = box.querySelector("input");
  const output = box.querySelector("output");
  const tree = document.getElementById(input.dataset.search);
  const was = new Map();
  for (const branch of tree.querySelectorAll("details")) was.set(branch, branch.open);
  input.addEventListener("input", () => {
    const wanted = input.value.trim().toLowerCase();
    let count = 0;
    for (const line of tree.querySelectorAll("li")) {
      const found = !wanted || line.textContent.toLowerCase().includes(wanted);
      line.classList.toggle("miss", !found);
      count += found ? 1 : 0;
    }
    for (const [branch, open] of was) {
      const holds = !wanted || branch.querySelector("li:not(.miss)") !== null;
      branch.classList.toggle("miss", !holds);
      branch.open = wanted ? holds : open;
    }
    output.textContent = wanted ? `${count} ${count === 1 ? "frame" : "frames"}` : "";
  });
}
"""
