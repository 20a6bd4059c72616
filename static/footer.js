"use strict";
/* The footer: the way to the page of endpoints, which is Gradio's own. */
wb.parts.footer = ({ element }) => {
  element.querySelector(".api").addEventListener("click", () => {
    document.querySelector("footer:not(.wb) .show-api")?.click();
    window.scrollTo({ top: 0 });
  });
};
