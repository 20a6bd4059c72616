/* A run as it streams in: Gradio hands over one growing text, out come its records, each once. */
"use strict";
(() => {
  /** `doors.take(record)` gets every record of the run that was begun last; `doors.arrived(count)` follows a batch. */
  function stream(props, watch, doors) {
    let name = null, read = 0;

    function arrived() {
      const value = props.value || "", first = value.indexOf("\n");
      if (first < 0 || !name) return;
      let head;
      try { head = JSON.parse(value.slice(0, first)); } catch { return; }
      if (head.run !== name) return; // an older run that had not heard it was stopped
      let count = 0;
      for (let end = value.indexOf("\n", read); name && end >= 0; end = value.indexOf("\n", read)) {
        const line = value.slice(read, end);
        read = end + 1;
        if (line) { doors.take(JSON.parse(line)); count++; }
      }
      if (count) doors.arrived(count);
    }
    watch("value", arrived);

    return {
      /** A name for a run that is about to be asked for. */
      begin() { name = "r" + Math.random().toString(36).slice(2); read = 0; return name; },
      /** Hear no more of it. */
      end() { const ended = name; name = null; return ended; },
    };
  }

  wb.stream = stream;
})();
