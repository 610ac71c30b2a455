// The least contrast of the texts that are shown (WCAG 2.2, relative luminance), against the ground behind each.
(() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (colour) => {
    const [r, g, b] = rgb(colour).map((one) => one / 255).map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (one) => {
    for (let up = one; up; up = up.parentElement) {
      const colour = getComputedStyle(up).backgroundColor;
      if (rgb(colour)[3] === 255) return colour;
    }
    return "white";
  };
  const seen = new Map();
  for (const one of document.querySelectorAll("body *")) {
    const own = [...one.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!own || !one.checkVisibility() || one.matches("title, script, style")) continue;
    const ink = one.ownerSVGElement ? getComputedStyle(one).fill : getComputedStyle(one).color;
    const both = ink + " on " + ground(one);
    if (!seen.has(both)) {
      const [a, b] = [light(ink), light(ground(one))].sort((x, y) => y - x);
      seen.set(both, (a + 0.05) / (b + 0.05));
    }
  }
  return Math.min(...seen.values());
})()
