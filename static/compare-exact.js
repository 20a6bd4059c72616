/* The exact distribution of a finite language: how likely each text is under every method, against the model's own
   share of it among the accepted texts. */
"use strict";
wb.compareExact = (card, doors) => {
  return { show() {} };
};
