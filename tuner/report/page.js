// Sorts and filters tables, opens what a link points into, and unfolds groups for print. The page is whole without it.
(function () {
  "use strict";
  const kFilterFrom = 12; // rows

  const key = (cell) => {
    const given = cell.getAttribute("data-v");
    if (given === null) return cell.textContent;
    return given === "" ? null : Number(given);
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), undefined, { numeric: true }));

  function sort(table, header) {
    const column = header.cellIndex;
    const body = table.tBodies[0];
    // Numbers begin with the largest.
    const first = header.classList.contains("n") ? "descending" : "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const order = header.getAttribute("aria-sort") === first ? other : first;
    const sign = order === "ascending" ? 1 : -1;
    const rows = Array.from(body.rows, (row) => ({ row, value: key(row.cells[column]) }));
    rows.sort((a, b) => {
      if (a.value === null || b.value === null) return (a.value === null) - (b.value === null);
      return sign * compare(a.value, b.value);
    });
    for (const one of rows) body.appendChild(one.row);
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", order);
  }

  function addFilter(table) {
    const rows = Array.from(table.tBodies[0].rows);
    if (rows.length < kFilterFrom) return;
    const label = document.createElement("label");
    const input = document.createElement("input");
    const count = document.createElement("span");
    label.className = "filter";
    input.type = "search";
    input.placeholder = "bf16f32 NT 4096";
    count.setAttribute("aria-live", "polite");
    label.append("Filter", input, count);
    input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const text = Array.from(row.cells, (cell) => cell.textContent).join(" ").toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        if (!row.hidden) ++shown;
      }
      count.textContent = words.length ? shown + " of " + rows.length : "";
    });
    table.parentNode.before(label);
  }

  function openTarget() {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    if (!target) return;
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    target.scrollIntoView();
  }

  for (const table of document.querySelectorAll("table.sortable")) {
    for (const header of table.tHead.rows[0].cells) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      header.append(button);
      button.addEventListener("click", () => sort(table, header));
    }
    addFilter(table);
  }
  for (const time of document.querySelectorAll("time")) time.title = new Date(time.dateTime).toLocaleString() + " here";
  for (const cell of document.querySelectorAll("td.code")) cell.title = cell.textContent;

  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = Array.from(document.querySelectorAll("details.group:not([open])"));
    for (const one of unfolded) one.open = true;
  });
  addEventListener("afterprint", () => { for (const one of unfolded) one.open = false; });
  addEventListener("hashchange", openTarget);
  openTarget();

  const problems = document.getElementById("problem-table");
  document.documentElement.dataset.rows = problems ? problems.tBodies[0].rows.length : 0;
  document.documentElement.dataset.script = "ran";
})();
