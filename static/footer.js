/* The footer: nothing happens there; it says where everything does. */
wb.parts.footer = () => {};
