// Blocks of code and tables that scroll sideways take the keyboard's focus, and copy buttons have different names.
const nameRegions = () => {
  for (const region of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap, .md-typeset p:has(> img)"))
    if (region.scrollWidth > region.clientWidth) region.tabIndex = 0;
  document.querySelectorAll(".md-code__nav").forEach((nav, i) => nav.setAttribute("aria-label", `Code block ${i + 1}`));
};
addEventListener("load", nameRegions);
addEventListener("resize", nameRegions);
