/* The page: what stands on it, and what the pointer and the keys do. */
const page = document.getElementById('page');
const tip = document.getElementById('tip');
const drawable = runs.filter(run => run.timeline !== null);
const hasBytes = drawable.some(run => run.result.memory_bytes !== null);

/* The tip ------------------------------------------------------------------------------------ */

function fillTip(title, colour, rows, hint) {
  const swatch = colour === null ? null : make('i');
  if (swatch !== null)
    swatch.style.background = colour;
  tip.replaceChildren(make('h4', {}, swatch, title),
    make('dl', {}, ...rows.flatMap(([what, words]) => [make('dt', {}, what), make('dd', {}, words)])),
    ...(hint === '' ? [] : [make('p', {}, hint)]));
  tip.hidden = false;
}

/* Beside @x, @y, where it covers neither them nor leaves the window. */
function placeTip(x, y) {
  const box = tip.getBoundingClientRect();
  const left = x + 18 + box.width < innerWidth ? x + 18 : Math.max(4, x - 18 - box.width);
  tip.style.left = left + 'px';
  tip.style.top = Math.max(4, Math.min(y + 16, innerHeight - box.height - 6)) + 'px';
}

function showOp(panel, op, x, y, pinned) {
  const t = panel.timeline;
  const hint = pinned ? 'Outlined: the ' + panel.chain.length + ' ops that each waited for the one before, back to the start. ' +
    'Enter goes to what it waited for, arrow keys to its neighbours, Escape lets go.' : 'Click: what it waited for, back to the start.';
  fillTip(panel.run.name + ': ' + nameOp(t, op), panel.colours[t.kind[op]][t.chunk[op]].fill, describeOp(panel, op), hint);
  placeTip(x, y);
}

function showPinned() {
  const {panel, op} = view.pinned, box = panel.canvas.getBoundingClientRect(), t = panel.timeline;
  const x = Math.min(Math.max(placeOf(panel, t.end[op]), LEFT), LEFT + panel.plot);
  showOp(panel, op, box.left + x, box.top + t.rank[op] * panel.lane + panel.body, true);
}

/* Pointing ----------------------------------------------------------------------------------- */

function pointAt(panel, event) {
  const box = panel.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;
  const time = timeOf(panel, x), t = panel.timeline;
  if (x < LEFT || x > LEFT + panel.plot || time > t.makespan || time < 0)
    return null;
  if (y < panel.lanes) {
    const rank = Math.floor(y / panel.lane), op = opAfter(t, rank, time);
    const hit = op < t.begin[rank + 1] && t.start[op] <= time;
    return {panel, rank, op: hit ? op : NONE, next: op, time};
  }
  if (panel.chart > 0 && y > panel.lanes + AXIS)
    return {panel, rank: rankNear(panel, y, time), op: NONE, next: NONE, time, chart: true};
  return null;
}

function hover(panel, event) {
  const at = pointAt(panel, event);
  view.hover = at;
  redraw('over');
  if (at === null) {
    tip.hidden = true;
    return;
  }
  if (at.op !== NONE)
    showOp(panel, at.op, event.clientX, event.clientY, false);
  else if (at.chart) {
    fillTip(panel.run.name + ': rank ' + at.rank, colourOfRank(at.rank, panel.timeline.ranks),
      [['time', printMs(Math.round(at.time))], ['held', describeHeld(panel.timeline, at.rank, at.time)],
        ...(panel.timeline.changes[at.rank].over === null ? [] : [['too much', panel.timeline.changes[at.rank].over]])], '');
    placeTip(event.clientX, event.clientY);
  } else {
    fillTip(panel.run.name + ': idle', null, describeIdle(panel, at.rank, at.next), '');
    placeTip(event.clientX, event.clientY);
  }
}

/* What is pinned is told again. */
function unpoint() {
  view.hover = null;
  tip.hidden = true;
  redraw('over');
  if (view.pinned !== null)
    showPinned();
}

/* The address then names the op: whoever is sent it sees the same. */
function pin(panel, op) {
  view.pinned = op === NONE ? null : {panel, op};
  panel.chain = op === NONE ? [] : chainOf(panel.timeline, op);
  panel.canvas.dataset.chain = panel.chain.length;
  try {
    history.replaceState(null, '', op === NONE ? location.pathname + location.search :
      '#' + encodeURIComponent(panel.run.name) + ':' + encodeURIComponent(panel.timeline.name[op]));
  } catch (error) {
    /* some browsers let no file change its address */
  }
  view.hover = null;
  redraw('over');
  if (op === NONE)
    tip.hidden = true;
  else
    requestAnimationFrame(() => requestAnimationFrame(() => { if (view.pinned !== null) showPinned(); }));
}

function goTo(panel, op) {
  show(panel, op);
  pin(panel, op);
}

/* Dragging moves, wheel with Ctrl or a pinch zooms; two fingers do both. */
function listen(panel) {
  const canvas = panel.canvas, fingers = new Map();
  let drag = null;
  const xOf = event => event.clientX - canvas.getBoundingClientRect().left;
  canvas.addEventListener('pointerdown', event => {
    fingers.set(event.pointerId, xOf(event));
    canvas.setPointerCapture(event.pointerId);
    drag = {x: xOf(event), from: view.from, to: view.to, moved: false};
  });
  canvas.addEventListener('pointermove', event => {
    if (drag === null) {
      hover(panel, event);
      return;
    }
    const before = [...fingers.values()];
    fingers.set(event.pointerId, xOf(event));
    const now = [...fingers.values()];
    if (now.length === 2) {
      const spread = Math.abs(now[0] - now[1]), spreadBefore = Math.abs(before[0] - before[1]);
      zoom(spreadBefore / Math.max(spread, 1), timeOf(panel, (now[0] + now[1]) / 2));
      drag.moved = true;
    } else if (drag.moved || Math.abs(xOf(event) - drag.x) > 3) {
      const by = (drag.x - xOf(event)) * (drag.to - drag.from) / panel.plot;
      drag.moved = true;
      canvas.classList.add('pans');
      tip.hidden = true;
      view.hover = null;
      setView(drag.from + by, drag.to + by);
    }
  });
  const release = event => {
    const clicked = drag !== null && !drag.moved && event.type === 'pointerup';
    fingers.delete(event.pointerId);
    canvas.classList.remove('pans');
    drag = null;
    if (clicked) {
      const at = pointAt(panel, event);
      pin(panel, at === null ? NONE : at.op);
    }
  };
  canvas.addEventListener('pointerup', release);
  canvas.addEventListener('pointercancel', release);
  canvas.addEventListener('pointerleave', () => { if (drag === null) unpoint(); });
  canvas.addEventListener('dblclick', event => zoom(1 / 3, timeOf(panel, xOf(event))));
  canvas.addEventListener('wheel', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) {
      event.preventDefault();
      zoom(Math.exp(Math.max(-1, Math.min(1, event.deltaY / 300))), timeOf(panel, xOf(event)));
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      pan((event.shiftKey ? event.deltaX || event.deltaY : event.deltaX) / panel.scale);
    } else {
      return;
    }
    hover(panel, event);
  }, {passive: false});
  canvas.addEventListener('keydown', event => { if (pressed(panel, event)) event.preventDefault(); });
}

/* Returns whether the key meant something. */
function pressed(panel, event) {
  const t = panel.timeline, at = view.pinned !== null && view.pinned.panel === panel ? view.pinned.op : NONE;
  const span = view.to - view.from;
  if (event.ctrlKey || event.metaKey || event.altKey)
    return false;
  const beside = by => {
    const rank = t.rank[at] + by;
    if (rank >= 0 && rank < t.ranks && t.begin[rank + 1] > t.begin[rank])
      goTo(panel, Math.min(opAfter(t, rank, t.start[at]), t.begin[rank + 1] - 1));
  };
  const along = by => {
    if (at + by >= t.begin[t.rank[at]] && at + by < t.begin[t.rank[at] + 1])
      goTo(panel, at + by);
  };
  switch (event.key) {
  case '+': case '=': zoom(1 / 1.5); break;
  case '-': case '_': zoom(1.5); break;
  case '0': case 'Home': fit(); break;
  case 'ArrowLeft': if (at === NONE) pan(-span / 8); else along(-1); break;
  case 'ArrowRight': if (at === NONE) pan(span / 8); else along(1); break;
  case 'ArrowUp': if (at === NONE) return false; beside(-1); break;
  case 'ArrowDown': if (at === NONE) return false; beside(1); break;
  case 'Enter': if (at === NONE || opThatLet(t, at) === NONE) return false; goTo(panel, opThatLet(t, at)); break;
  case 'Escape': pin(panel, NONE); break;
  default: return false;
  }
  return true;
}

/* Panels ------------------------------------------------------------------------------------- */

const seen = new IntersectionObserver(entries => {
  for (const entry of entries)
    panels.filter(panel => panel.canvas === entry.target).forEach(panel => { panel.visible = entry.isIntersecting; });
  redraw();
}, {rootMargin: '200px'});

function describeRun(run) {
  const result = run.result;
  return 'makespan ' + trimmed(result.makespan_ms, 3) + ' ms, bubble ' + (100 * result.bubble.ratio).toFixed(1) + ' % of all ranks\u2019 time, at most ' +
    trimmed(result.activations.peak, 2) + ' activations on a rank' +
    (result.parameter_copies > 1 ? ', ' + result.parameter_copies + ' copies of the parameters' : '');
}

function makePanel(run) {
  const canvas = make('canvas', {tabindex: 0, role: 'img', 'aria-label': 'Timeline of ' + run.name + ': ' + describeRun(run)});
  const over = make('canvas', {class: 'over', 'aria-hidden': 'true'});
  const panel = {run, timeline: run.timeline, canvas, over, scale: 0, visible: false, chain: [], colours: []};
  const details = make('details', {}, make('summary', {}, 'By rank'),
    makeTableOf(data.by_rank, run, 'rank', i => String(i)));
  panel.section = make('section', {class: 'panel', id: 'timeline-' + run.index},
    make('header', {}, make('h3', {}, run.name), make('span', {class: 'faint'}, describeRun(run))),
    make('div', {class: 'drawing'}, canvas, over), details);
  if (data.by_link.rows[run.index].length > 0)
    panel.section.append(make('details', {}, make('summary', {}, 'By link'),
      makeTableOf(data.by_link, run, 'link', i => run.result.links.per_link[i].link)));
  const path = lastOp(run.timeline);
  panel.path = path === NONE ? [] : chainOf(run.timeline, path);
  canvas.dataset.path = panel.path.length;
  panel.colours = coloursOf(run.timeline);
  layOut(panel);
  Object.assign(canvas.dataset, {left: LEFT, right: RIGHT, lane: panel.lane, body: panel.body});
  canvas.style.height = over.style.height = panel.height + 'px'; /* so that nothing moves once it is drawn */
  listen(panel);
  return panel;
}

/* The timelines of the schedules that are chosen, in the order of the table. */
function choose(run, chosen) {
  const at = panels.findIndex(panel => panel.run === run);
  if (chosen && at < 0) {
    const panel = makePanel(run), next = panels.findIndex(other => other.run.index > run.index);
    panels.splice(next < 0 ? panels.length : next, 0, panel);
    places.timelines.insertBefore(panel.section, next < 0 ? null : panels[next + 1].section);
    seen.observe(panel.canvas);
  } else if (!chosen && at >= 0) {
    seen.unobserve(panels[at].canvas);
    panels[at].section.remove();
    if (view.pinned !== null && view.pinned.panel === panels[at])
      pin(panels[at], NONE);
    panels.splice(at, 1);
  }
  scaleMemory();
  /* The axis is as long as the longest step on it. */
  const whole = view.from === 0 && view.to === view.end;
  view.end = panels.reduce((end, panel) => Math.max(end, panel.timeline.makespan), 1);
  setView(view.from, whole ? view.end : Math.min(view.to, view.end));
}

/* The best, and others that are nearly as good: as many as a screen has room for. */
function firstShown() {
  if (drawable.length <= 4)
    return drawable;
  const sorted = [...drawable].sort((a, b) => b.result.best - a.result.best ||
    b.result.throughput_vs_1f1b - a.result.throughput_vs_1f1b || a.index - b.index);
  const base = sorted.filter(run => run.name === '1f1b'); /* what the best is measured by */
  const same = (a, b) => a.result.makespan_ms === b.result.makespan_ms && a.result.activations.peak === b.result.activations.peak;
  const others = sorted.filter((run, i) => run.name !== '1f1b' && !sorted.slice(0, i).some(before => same(before, run)));
  return [...others.slice(0, 3 - base.length), ...base];
}

/* What stands on the page -------------------------------------------------------------------- */

const places = {timelines: make('div')};

function makeHead() {
  const [title, ...lines] = data.result === null || data.has_answer ? [data.answer.asked] : data.titles;
  const copy = navigator.clipboard === undefined ? null : make('button', {class: 'copy', type: 'button', onclick: () =>
    navigator.clipboard.writeText(data.command).then(() => { copy.textContent = 'Copied'; }, () => {})}, 'Copy');
  document.title = 'pipesim: ' + title;
  return make('header', {}, make('h1', {}, title),
    ...lines.filter(line => /^(Compared|Messages|Links)/.test(line)).map(line => make('p', {class: 'faint'}, line)),
    make('div', {class: 'command'}, make('code', {}, data.command), copy));
}

function makeTiles() {
  const results = runs.filter(run => !run.refused);
  const run = results.find(one => one.result.best) || (results.length === 1 ? results[0] : undefined);
  if (run === undefined)
    return null;
  const result = run.result, memory = result.memory_bytes;
  const tile = (value, words) => make('li', {}, make('b', {}, value), make('span', {}, words));
  const one = results.find(other => other.name === '1f1b'), at = data.table.columns.findIndex(column => column.title === 'runtime');
  const native = results.map(other => [other, at < 0 ? null : data.table.rows[other.index][0][at]]).filter(([, time]) => time !== null)
    .sort(([, a], [, b]) => a - b)[0];
  return make('ul', {class: 'tiles'},
    tile(run.name, results.length > 1 ? new Map(data.legend).get('*') || 'best' : 'schedule'),
    tile(trimmed(result.makespan_ms, 3) + ' ms', 'makespan'),
    result.throughput_vs_1f1b === null ? null : tile(result.throughput_vs_1f1b.toFixed(2) + '\u00d7', 'throughput against 1F1B'),
    tile((100 * result.bubble.ratio).toFixed(1) + ' %', 'bubble, of all ranks\u2019 time'),
    tile(trimmed(result.activations.peak, 2), 'activations on the fullest rank'),
    one === undefined || one === run ? null : tile(trimmed(one.result.makespan_ms, 3) + ' ms',
      '1F1B, ' + (100 * one.result.bubble.ratio).toFixed(1) + ' % bubble, ' + trimmed(one.result.activations.peak, 2) + ' activations'),
    results.length < 2 || native === undefined ? null : tile(native[0].name, 'best where messages block as in the runtime: ' +
      trimmed(native[1], 3) + ' ms'),
    memory === null ? null : tile(printBytes(Math.max(...memory.peak_per_rank)),
      'memory of the fullest rank' + (memory.limit === null ? '' : ', of ' + printBytes(memory.limit))));
}

/* What the colours are of ops by how fast they ran. */
function makeSpeedLegend() {
  const {sustained, percent} = data.speeds, last = theme.speeds.length - 1;
  return make('div', {class: 'legend', id: 'speeds'}, make('span', {}, sustained * percent + ' % less'),
    make('span', {class: 'scale'}, ...theme.speeds.map(({fill}) => {
      const box = make('i');
      box.style.background = fill;
      return box;
    })), make('span', {}, (last - sustained) * percent + ' % more time than sustained'));
}

function makeLegend() {
  if (view.speed)
    return makeSpeedLegend();
  const has = (t, kind) => t.kind.some((of, op) => of === kind && t.end[op] > t.start[op]) ||
    [...t.second.values()].some(half => half.kind === kind);
  const kinds = KINDS.map((kind, i) => [kind, i]).filter(([, i]) => drawable.some(run => has(run.timeline, i)));
  const shades = new Set(drawable.map(run => run.timeline.chunkName).filter(name => name !== null));
  const box = colour => {
    const drawn = make('i');
    drawn.style.background = colour;
    return drawn;
  };
  const swatch = (kind, shade) => box(theme.colours[kind][shade]);
  const asides = ['copies to the host', 'copies back', 'collectives: broadcasts above, reductions below'].map((words, i) => [words, i])
    .filter(([, i]) => drawable.some(run => run.timeline.asides.some(({which}) => Math.min(which, 2) === i)));
  const words = [...shades].map(name => name === 'direction' ? 'reverse direction' : 'later chunks');
  return make('div', {class: 'legend'},
    ...kinds.map(([kind, i]) => make('span', {}, swatch(i, 0), shades.size > 0 ? swatch(i, 1) : null, data.looks[kind].title)),
    ...asides.map(([words, i]) => make('span', {}, box(theme.asides[i]), words)),
    ...(words.length > 0 ? [make('span', {class: 'faint'}, 'light: ' + words.join(' or '))] : []),
    ...(drawable.some(run => run.timeline.second.size > 0) ? [make('span', {class: 'faint'}, 'framed: overlapped pair')] : []),
    ...(drawable.some(run => run.timeline.messages !== null) ?
      [make('span', {class: 'faint'}, 'strips below a rank: it sends, it receives; pale: one end waits, darker: a receive waits beside an op')] : []));
}

function makeTools() {
  const button = (text, title, action) => make('button', {type: 'button', title, onclick: action}, text);
  const critical = make('input', {type: 'checkbox', id: 'critical', onchange: event => {
    view.critical = event.target.checked;
    redraw('over');
  }});
  const speed = make('input', {type: 'checkbox', id: 'speed', onchange: event => {
    view.speed = event.target.checked;
    places.legend.replaceChildren(makeLegend());
    redraw();
  }});
  const memory = make('select', {id: 'memory', onchange: event => {
    view.memory = event.target.value;
    if (view.memory !== 'off')
      scaleMemory();
    redraw();
  }}, ...(hasBytes ? [make('option', {value: 'bytes'}, 'bytes')] : []), make('option', {value: 'held'}, 'activations'),
  make('option', {value: 'off'}, 'hidden'));
  view.memory = hasBytes ? 'bytes' : 'held';
  memory.value = view.memory;
  overview.canvas = make('canvas', {class: 'overview', id: 'overview', title: 'Drag the window or its edges; double-click shows all',
    role: 'img', 'aria-label': 'The whole step, and what of it the timelines show'});
  listenOverview(overview.canvas);
  places.legend = make('div', {}, makeLegend());
  return make('div', {class: 'tools'},
    make('div', {class: 'row'},
      make('span', {class: 'zoom'}, button('+', 'Zoom in', () => zoom(1 / 1.5)), button('\u2212', 'Zoom out', () => zoom(1.5)),
        button('All', 'Show the whole step', fit)),
      make('label', {class: 'choices'}, critical, 'critical path'),
      drawable.some(run => run.timeline.varies) ? make('label', {class: 'choices',
        title: 'Colours: what each op took against its time in a chip that never idles, beside nothing'}, speed, 'speed') : null,
      make('label', {class: 'choices'}, 'memory', memory),
      make('span', {class: 'hint'}, 'Ctrl + wheel or pinch zooms, dragging moves, a click shows what an op waited for; with the keyboard + \u2212 0 and arrows')),
    places.legend, overview.canvas);
}

function makeTimelines() {
  const section = make('section', {}, make('h2', {}, 'Timelines and memory'));
  if (data.left_out !== null)
    section.append(make('p', {class: 'none', id: 'left-out'}, data.left_out + '.'));
  if (drawable.length === 0)
    return section;
  section.append(makeTools(), places.timelines);
  return section;
}

function makeCosts() {
  const lines = data.titles.slice(1).filter(line => !/^(Compared|Messages|Links)/.test(line));
  const list = make('dl', {class: 'costs'});
  for (const line of lines) {
    const at = line.indexOf(':');
    list.append(make('dt', {}, at < 0 ? '' : line.slice(0, at)), make('dd', {}, line.slice(at + 1).trim()));
  }
  return make('section', {}, make('h2', {}, 'Costs and where they come from'), list,
    data.notices.length > 0 ? make('ul', {class: 'notes', id: 'notices'}, ...data.notices.map(notice => make('li', {}, notice))) : null,
    data.components.length > 0 ? makeComponents() : null);
}

/* "NAMES: sentence" */
function makeNote(note) {
  const at = note.indexOf(': ');
  return make('li', {}, make('b', {}, note.slice(0, at)), note.slice(at));
}

function makeFooter() {
  return make('footer', {}, 'Made by pipesim ' + data.version + '. The page is one file and asks the network for nothing; its data is JSON in its source.');
}

function makePage() {
  const shown = firstShown(), boxes = new Map();
  page.append(makeHead(), makeAnswer(data.result === null || data.has_answer));
  if (data.result === null) {
    page.append(makeFooter());
    return boxes;
  }
  if (data.about !== null)
    page.append(make('details', {}, make('summary', {}, 'All of it as text'), make('pre', {id: 'about'}, data.about)));
  const plan = document.getElementById('plan'); /* which the program drew */
  if (plan !== null)
    page.append(plan);
  const tiles = data.has_answer ? null : makeTiles();
  if (tiles !== null)
    page.append(tiles);
  page.append(make('section', {}, make('h2', {}, runs.length > 1 ? 'Schedules' : 'Schedule'), makeMainTable(run => {
    if (run.timeline === null || drawable.length < 2)
      return make('label', {}, run.name);
    const box = make('input', {type: 'checkbox', title: 'Show its timeline', onchange: event => choose(run, event.target.checked)});
    box.checked = shown.includes(run);
    boxes.set(run, box);
    return make('label', {}, box, run.name);
  })));
  page.append(make('details', {}, make('summary', {}, 'What the columns mean'),
    make('dl', {class: 'costs'}, ...data.legend.flatMap(([column, words]) =>
      [make('dt', {}, column === '*' ? '\u2605' : column), make('dd', {}, words)]))));
  if (data.links.rows.some(rows => rows.length > 0)) {
    const busy = runs.filter(run => data.links.rows[run.index].length > 0);
    page.append(make('section', {}, make('h2', {}, 'Links'),
      makeTableOf({columns: data.links.columns, rows: [busy.map(run => data.links.rows[run.index][0])]}, {index: 0}, 'schedule',
        i => busy[i].name)));
  }
  if (data.result.samples !== undefined)
    page.append(makeSamples());
  page.append(makeTimelines());
  for (const run of shown)
    choose(run, true);
  if (data.notes.length > 0)
    page.append(make('section', {}, make('h2', {}, 'Notes'),
      make('ul', {class: 'notes'}, ...data.notes.map(makeNote))));
  page.append(makeCosts(), makePicker(), makeFooter());
  return boxes;
}

/* "#zb-v:3F12" names an op. */
function openAddress(boxes) {
  const [name, op] = location.hash.slice(1).split(':').map(decodeURIComponent);
  const run = drawable.find(one => one.name === name);
  if (run === undefined || op === undefined)
    return;
  if (!panels.some(panel => panel.run === run)) {
    boxes.get(run).checked = true;
    choose(run, true);
  }
  const panel = panels.find(one => one.run === run), at = run.timeline.name.indexOf(op);
  if (at < 0)
    return;
  show(panel, at);
  panel.canvas.scrollIntoView({block: 'center'});
  pin(panel, at);
}

function retheme() {
  readTheme();
  overview.key = '';
  if (places.legend !== undefined)
    places.legend.replaceChildren(makeLegend());
  redraw();
}

/* Printed as on light paper; at once, as the printer does not wait. */
function forPrinter(printing) {
  view.printing = printing;
  document.documentElement.classList.toggle('printing', printing);
  retheme();
  for (const panel of panels)
    drawPanel(panel);
}

readTheme();
const boxes = makePage();
retheme();
openAddress(boxes);
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', retheme);
addEventListener('resize', redraw);
addEventListener('hashchange', () => openAddress(boxes));
addEventListener('scroll', () => { if (view.hover !== null || view.pinned !== null) unpoint(); }, {passive: true});
addEventListener('beforeprint', () => forPrinter(true));
addEventListener('afterprint', () => forPrinter(false));
