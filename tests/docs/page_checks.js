/* Run in a page of the site; returns what is wrong with it. Contrast is that of WCAG 2.1: 4.5 to 1 for text, 3 to 1
   for large text (from 24 px, or bold from 18.66 px). */
async () => {
  const problems = [];
  const frozen = document.createElement("style");
  frozen.textContent = "*, *::before, *::after { transition: none !important; animation: none !important }";
  document.head.append(frozen);
  await Promise.all([...document.images].map(async (image) => {
    image.loading = "eager";
    await image.decode().catch(() => problems.push(`no picture ${image.getAttribute("src")}`));
  }));

  const parse = (text) => {
    const [r, g, b, alpha = 1] = text.match(/[\d.]+/g).map(Number);
    const unit = text.startsWith("color(srgb") ? 255 : 1;  // what color-mix gives, from 0 to 1
    return [r * unit, g * unit, b * unit, alpha];
  };
  const over = (front, back) => [0, 1, 2].map((i) => front[3] * front[i] + (1 - front[3]) * back[i]).concat(1);
  const light = (colour) => {
    const [r, g, b] = colour.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = (element, known) => {
    if (element === null) return [255, 255, 255, 1];
    if (!known.has(element)) {
      const own = parse(getComputedStyle(element).backgroundColor);
      known.set(element, own[3] === 1 ? own : over(own, background(element.parentElement, known)));
    }
    return known.get(element);
  };
  const opacity = (element, known) => {
    if (element === null) return 1;
    if (!known.has(element)) {
      known.set(element, Number(getComputedStyle(element).opacity) * opacity(element.parentElement, known));
    }
    return known.get(element);
  };
  const contrast = (scheme) => {
    document.body.setAttribute("data-md-color-scheme", scheme);
    const known = new Map(), faint = new Map(), seen = new Set();
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const element = texts.currentNode.parentElement, text = texts.currentNode.data.trim();
      if (!text || !element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
      if (element.closest("svg, script, style, noscript, template")) continue;
      const style = getComputedStyle(element);
      const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
      const [r, g, b, alpha] = parse(style.color);
      const back = background(element, known), front = over([r, g, b, alpha * opacity(element, faint)], back);
      const key = [front, back, large].join();
      if (seen.has(key)) continue;
      seen.add(key);
      const [low, high] = [light(front), light(back)].sort((a, b) => a - b);
      const ratio = (high + 0.05) / (low + 0.05);
      if (ratio < (large ? 3 : 4.5)) {
        const where = `${element.tagName.toLowerCase()}.${element.className}`;
        problems.push(`${scheme}: contrast ${ratio.toFixed(2)} of ${where} "${text.slice(0, 30)}"`);
      }
    }
  };
  contrast("default");
  contrast("slate");
  return problems;
}
