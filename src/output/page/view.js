/* What all timelines share: the stretch of time that they show, colours, and when they are drawn. */
const LEFT = 54, RIGHT = 16; /* margins of a drawing, pixels */
const view = {
  end: 1, from: 0, to: 1, /* ns: of the longest step, and what is shown of it */
  critical: false, memory: 'off', /* 'held', 'bytes' */
  speed: false, /* ops have the colour of how fast they ran */
  hover: null,  /* {panel, rank, op, time}: op NONE where the rank is idle */
  pinned: null, /* {panel, op} */
  printing: false,
};
const panels = []; /* that are on the page, from the top */

/* Colours ------------------------------------------------------------------------------------ */

/* On dark paper, in place of data.looks: the same hues, so that one knows them again. */
const DARK = {
  F: ['#f0b64a', '#f6dca6'], I: ['#4fa6e0', '#9ccdec'], W: ['#6b78dc', '#aab2f0'], B: ['#17966f', '#7cc4a6'],
};
const DARK_ASIDES = ['#f06292', '#b39ddb', '#bdbdbd'];
const theme = {colours: [], speeds: [], asides: []};

function readTheme() {
  const css = getComputedStyle(document.documentElement);
  for (const name of ['paper', 'sheet', 'ink', 'faint', 'line', 'accent', 'bad', 'idle', 'grid', 'focus', 'path', 'pin'])
    theme[name] = css.getPropertyValue('--' + name).trim();
  theme.dark = !view.printing && matchMedia('(prefers-color-scheme: dark)').matches;
  theme.colours = KINDS.map(kind => theme.dark ? DARK[kind] : data.looks[kind].colours);
  theme.asides = theme.dark ? DARK_ASIDES : data.asides;
  theme.speeds = data.speeds[theme.dark ? 'dark' : 'light'].map(paintOf);
  for (const panel of panels)
    panel.colours = coloursOf(panel.timeline);
}

const channels = colour => [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));

function mix(a, b, part) {
  const [x, y] = [channels(a), channels(b)];
  return '#' + x.map((value, i) => Math.round(value + (y[i] - value) * part).toString(16).padStart(2, '0')).join('');
}

/* A fill, its three channels, and what can be read on it. */
function paintOf(fill) {
  const [r, g, b] = channels(fill);
  return {fill, channels: [r, g, b], text: 0.299 * r + 0.587 * g + 0.114 * b > 120 ? '#000000' : '#ffffff'};
}

/* Of @op, or a half of it, whose colours by kind and chunk are @colours. */
function colourOf(t, colours, op, kind, chunk) {
  if (!view.speed)
    return colours[kind][chunk];
  const {sustained, percent} = data.speeds, level = sustained + Math.round(100 * excessOf(t, op) / percent);
  return theme.speeds[Math.min(Math.max(level, 0), theme.speeds.length - 1)];
}

/* By kind and chunk. Directions take turns; of more than
 * two chunks each is a step lighter than the one before. */
function coloursOf(t) {
  return theme.colours.map(([first, last]) => Array.from({length: t.chunks}, (_, chunk) => {
    const part = t.chunkName === 'direction' ? chunk % 2 : t.chunks > 1 ? chunk / (t.chunks - 1) : 0;
    return paintOf(mix(first, last, part));
  }));
}

/* When it is drawn ------------------------------------------------------------------------- */

let asked = null; /* 'all', 'over': what the pointer changes alone */

function redraw(what) {
  const before = asked;
  asked = what === 'over' && before !== 'all' ? 'over' : 'all';
  if (before !== null)
    return;
  requestAnimationFrame(() => {
    const all = asked === 'all';
    asked = null;
    if (all)
      drawOverview();
    for (const panel of panels)
      if (panel.visible && all)
        drawPanel(panel);
      else if (panel.visible && panel.scale > 0)
        drawOver(panel);
  });
}

/* A canvas as large as it is on the page, in device pixels. */
function fitCanvas(canvas, height) {
  const ratio = view.printing ? 2 : window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.style.height = height + 'px';
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext('2d');
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return {context, width, height, ratio};
}

/* What is shown ---------------------------------------------------------------------------- */

function setView(from, to) {
  const least = Math.max(20, view.end * 1e-7);
  const span = Math.min(Math.max(to - from, least), view.end);
  from = Math.min(Math.max(from + (to - from - span) / 2, 0), view.end - span);
  view.from = from;
  view.to = from + span;
  for (const panel of panels) {
    panel.canvas.dataset.from = view.from;
    panel.canvas.dataset.to = view.to;
  }
  redraw();
}

/* @factor < 1: closer, about @time, which stays where it is. */
function zoom(factor, time) {
  const at = time === undefined ? (view.from + view.to) / 2 : time;
  setView(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

const pan = by => setView(view.from + by, view.to + by);
const fit = () => setView(0, view.end);

/* So that @op is seen with what is around it. */
function show(panel, op) {
  const t = panel.timeline, took = Math.max(t.end[op] - t.start[op], 1), span = view.to - view.from;
  if (span > 60 * took)
    setView(t.start[op] - 20 * took, t.start[op] + 20 * took);
  else if (t.start[op] < view.from || t.end[op] > view.to)
    setView(t.start[op] - span / 2, t.start[op] + span / 2);
}

/* The axis --------------------------------------------------------------------------------- */

/* Seconds only from ten on: steps are spoken of in ms. */
function unitOf(span) {
  return view.end >= 1e10 && span >= 1e10 ? [1e9, 's'] : span >= 2e4 ? [1e6, 'ms'] : [1e3, '\u00b5s'];
}

/* Round numbers, about @n of them. */
function ticksOf(from, to, n) {
  const rough = (to - from) / Math.max(n, 1), power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(digit => power * digit >= rough);
  const ticks = [];
  for (let i = Math.ceil(from / step); i * step <= to; i++)
    ticks.push(i * step);
  return {ticks, step};
}

function printTick(value, step) {
  return value.toFixed(Math.max(0, Math.min(9, -Math.floor(Math.log10(step) + 1e-9))));
}

/* The overview ----------------------------------------------------------------------------- */

const overview = {canvas: null, picture: null, key: ''};

/* All ranks of a step in one strip: in each column the mean colour of what they do. */
function paintStrip(t, colours, width) {
  const sums = new Float64Array(4 * width), scale = width / view.end;
  for (let op = 0; op < t.n; op++)
    forHalves(t, op, (kind, chunk, start, end) =>
      addColumns(sums, width, start * scale, end * scale, colourOf(t, colours, op, kind, chunk).channels));
  return sums;
}

/* A box from @x0 to @x1 pixels, into sums of red, green, blue and how much of a pixel is covered. */
function addColumns(sums, width, x0, x1, [r, g, b]) {
  const last = Math.min(Math.ceil(x1), width);
  for (let x = Math.max(Math.floor(x0), 0); x < last; x++) {
    const part = Math.min(x1, x + 1) - Math.max(x0, x);
    if (part <= 0)
      continue;
    sums[4 * x] += part * r;
    sums[4 * x + 1] += part * g;
    sums[4 * x + 2] += part * b;
    sums[4 * x + 3] += part;
  }
}

/* The sums over @whole covered pixels each into a line of @image; what is left is idle. */
function putColumns(sums, width, whole, image, line) {
  const [r, g, b] = channels(theme.idle);
  for (let x = 0; x < width; x++) {
    const rest = Math.max(0, whole - sums[4 * x + 3]), at = 4 * (line * width + x);
    image.data[at] = (sums[4 * x] + rest * r) / whole;
    image.data[at + 1] = (sums[4 * x + 1] + rest * g) / whole;
    image.data[at + 2] = (sums[4 * x + 2] + rest * b) / whole;
    image.data[at + 3] = 255;
  }
}

function drawOverview() {
  const canvas = overview.canvas;
  if (canvas === null || panels.length === 0 || view.printing)
    return;
  const {context, width, height, ratio} = fitCanvas(canvas, 30);
  const across = Math.max(1, Math.round((width - LEFT - RIGHT) * ratio)), strips = panels.slice(0, 6);
  const key = [across, theme.dark, view.speed, view.end, ...strips.map(panel => panel.run.index)].join();
  if (key !== overview.key) {
    const image = new ImageData(across, strips.length);
    strips.forEach((panel, line) =>
      putColumns(paintStrip(panel.timeline, panel.colours, across), across, panel.timeline.ranks, image, line));
    overview.picture = new OffscreenCanvas(across, strips.length);
    overview.picture.getContext('2d').putImageData(image, 0, 0);
    overview.key = key;
  }
  const each = (height - 6) / strips.length, plot = width - LEFT - RIGHT;
  context.imageSmoothingEnabled = false;
  strips.forEach((panel, line) =>
    context.drawImage(overview.picture, 0, line, across, 1, LEFT, 3 + line * each, plot, each - (each > 3 ? 1 : 0)));
  const x0 = LEFT + plot * view.from / view.end, x1 = LEFT + plot * view.to / view.end;
  context.globalAlpha = 0.68;
  context.fillStyle = theme.paper;
  context.fillRect(LEFT, 0, x0 - LEFT, height);
  context.fillRect(x1, 0, LEFT + plot - x1, height);
  context.globalAlpha = 1;
  context.strokeStyle = theme.accent;
  context.lineWidth = 2;
  context.strokeRect(x0 + 1, 1, Math.max(x1 - x0 - 2, 1), height - 2);
}

/* Dragging inside the window moves it, its edges change it, and outside it jumps there. */
function listenOverview(canvas) {
  let drag = null;
  const timeAt = event => {
    const box = canvas.getBoundingClientRect();
    return view.end * (event.clientX - box.left - LEFT) / (box.width - LEFT - RIGHT);
  };
  const edgeAt = event => {
    const near = 7 * view.end / (canvas.clientWidth - LEFT - RIGHT), time = timeAt(event);
    return Math.abs(time - view.from) < near ? 'from' : Math.abs(time - view.to) < near ? 'to' : null;
  };
  canvas.addEventListener('pointerdown', event => {
    const time = timeAt(event);
    canvas.setPointerCapture(event.pointerId);
    drag = {edge: edgeAt(event), time, from: view.from, to: view.to};
    if (drag.edge === null && (time < view.from || time > view.to)) {
      pan(time - (view.from + view.to) / 2);
      drag.from = view.from;
      drag.to = view.to;
    }
  });
  canvas.addEventListener('pointermove', event => {
    if (drag === null) {
      canvas.style.cursor = edgeAt(event) !== null ? 'ew-resize' : 'grab';
      return;
    }
    const by = timeAt(event) - drag.time;
    if (drag.edge === 'from')
      setView(Math.min(drag.from + by, drag.to), drag.to);
    else if (drag.edge === 'to')
      setView(drag.from, Math.max(drag.to + by, drag.from));
    else
      setView(drag.from + by, drag.to + by);
  });
  for (const name of ['pointerup', 'pointercancel'])
    canvas.addEventListener(name, () => { drag = null; });
  canvas.addEventListener('dblclick', fit);
}
