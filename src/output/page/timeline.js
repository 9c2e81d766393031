/* A timeline on a canvas: a lane a rank, a box an op. What is drawn follows from how many ops of a lane are in sight:
 * boxes with their micro-batches where there is room for these, else columns of pixels with the mean colour of what
 * runs in them: as many as there are pixels, however many ops there are. As SVG, a rectangle an op, 22,528 ops took
 * Chromium without a GPU 62 ms of processor time a frame, and so they take 17. */
const LEAST_BOX = 9; /* pixels of an average box, below which boxes become columns */
const AXIS = 22;

/* The halves of a pair one after the other, any other op as a whole. */
function forHalves(t, op, take) {
  if (Number.isNaN(t.half[op])) {
    take(t.kind[op], t.chunk[op], t.start[op], t.end[op], t.microbatch[op]);
    return;
  }
  const second = t.second.get(op);
  take(t.kind[op], t.chunk[op], t.start[op], t.half[op], t.microbatch[op]);
  take(second.kind, second.chunk, t.half[op], t.end[op], second.microbatch);
}

function layOut(panel) {
  const ranks = panel.timeline.ranks;
  panel.lane = ranks <= 16 ? 23 : ranks <= 32 ? 17 : ranks <= 64 ? 12 : ranks <= 128 ? 7 : Math.max(1, Math.floor(900 / ranks));
  /* Below the ops what is sent and received, where messages wait for each other, or copies and collectives. */
  panel.strip = (panel.timeline.messages !== null || panel.timeline.asides.length > 0) && panel.lane >= 12 ? 4 : 0;
  panel.lane += 2 * panel.strip;
  panel.body = panel.lane - 2 * panel.strip;
  panel.lanes = ranks * panel.lane;
  panel.chart = view.memory === 'off' ? 0 : 142;
  panel.height = panel.lanes + AXIS + panel.chart + 2;
}

const placeOf = (panel, time) => LEFT + (time - view.from) * panel.scale;
const timeOf = (panel, x) => view.from + (x - LEFT) / panel.scale;

function drawPanel(panel) {
  layOut(panel);
  const drawing = fitCanvas(panel.canvas, panel.height), {context, width} = drawing;
  panel.plot = Math.max(width - LEFT - RIGHT, 1);
  panel.scale = panel.plot / (view.to - view.from);
  panel.ratio = drawing.ratio;
  clipped(panel, context, () => {
    drawLanes(panel, context);
    if (panel.strip > 0 && panel.timeline.messages !== null)
      drawMessages(panel, context);
    if (panel.strip > 0)
      drawAsides(panel, context);
  });
  drawFrame(panel, context);
  if (panel.chart > 0)
    drawMemory(panel, context);
  drawOver(panel);
}

/* What the pointer changes lies on a canvas of its own above: then no box is drawn again. */
function drawOver(panel) {
  /* A printer takes it for opaque. */
  const {context} = view.printing ? {context: panel.canvas.getContext('2d')} : fitCanvas(panel.over, panel.height);
  clipped(panel, context, () => {
    if (view.critical)
      drawPath(panel, context, panel.path, theme.path);
    drawPointed(panel, context);
  });
  if (panel.chart > 0 && view.hover !== null && view.hover.panel === panel)
    pointMemory(panel, context, view.hover.rank);
}

function clipped(panel, context, draw) {
  context.save();
  context.beginPath();
  context.rect(LEFT, 0, panel.plot, panel.height);
  context.clip();
  draw();
  context.restore();
}

/* Boxes -------------------------------------------------------------------------------------- */

function drawLanes(panel, context) {
  const t = panel.timeline, across = Math.ceil(panel.plot * panel.ratio);
  const end = Math.min(placeOf(panel, t.makespan), LEFT + panel.plot);
  const gap = panel.body >= 7 ? 1 : 0;
  const dense = [];
  context.fillStyle = theme.idle;
  for (let rank = 0; rank < t.ranks; rank++)
    context.fillRect(LEFT, rank * panel.lane + gap, Math.max(0, end - LEFT), panel.body - 2 * gap);
  for (let rank = 0; rank < t.ranks; rank++) {
    const first = opAfter(t, rank, view.from);
    let last = opAfter(t, rank, view.to);
    if (last < t.begin[rank + 1] && t.start[last] < view.to)
      last++;
    const seen = Math.min(t.end[last - 1], view.to) - Math.max(t.start[first], view.from);
    if (seen * panel.scale < LEAST_BOX * (t.longer[last] - t.longer[first]))
      dense.push({rank, first, last});
    else
      drawBoxes(panel, context, rank, first, last, gap);
  }
  if (dense.length > 0)
    drawColumns(panel, context, dense, across, gap, end);
}

/* So that neighbours are told apart. */
const gapBehind = wide => wide > 5 ? 1 : wide > 3 ? 0.5 : 0;

function drawBoxes(panel, context, rank, first, last, gap) {
  const t = panel.timeline, top = rank * panel.lane + gap, height = panel.body - 2 * gap;
  const size = Math.min(11, height - 3), numbers = size >= 7;
  const labels = [];
  let fill = '';
  for (let op = first; op < last; op++) {
    forHalves(t, op, (kind, chunk, start, end, microbatch) => {
      const x0 = Math.max(placeOf(panel, start), LEFT - 2), x1 = Math.min(placeOf(panel, end), LEFT + panel.plot + 2);
      const colour = colourOf(t, panel.colours, op, kind, chunk), wide = x1 - x0;
      if (wide <= 0)
        return;
      if (fill !== colour.fill)
        context.fillStyle = fill = colour.fill;
      context.fillRect(x0, top, wide - gapBehind(wide), height);
      if (numbers && wide > 9)
        labels.push({text: String(microbatch), x: (x0 + x1 - 1) / 2, wide, colour: colour.text, light: chunk % 2 === 1});
    });
    if (!Number.isNaN(t.half[op]) && (t.end[op] - t.start[op]) * panel.scale > 8) {
      const x0 = placeOf(panel, t.start[op]);
      context.strokeStyle = theme.focus;
      context.lineWidth = 1;
      context.strokeRect(x0 + 0.5, top + 0.5, (t.end[op] - t.start[op]) * panel.scale - 2, height - 1);
    }
  }
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  for (const light of [false, true]) {
    context.font = (light ? 'italic ' : '') + size + 'px system-ui, "DejaVu Sans", sans-serif';
    for (const label of labels)
      if (label.light === light && label.text.length * size * 0.36 + 1 <= label.wide) { /* narrow rather than none */
        context.fillStyle = label.colour;
        context.fillText(label.text, label.x, top + height / 2 + 0.5, label.wide - 1);
      }
  }
}

/* A line of pixels of each lane, stretched to its height. */
function drawColumns(panel, context, lanes, across, gap, end) {
  const t = panel.timeline, scale = panel.scale * panel.ratio;
  const {image, sums, picture} = roomFor(panel, across);
  for (const {rank, first, last} of lanes) {
    sums.fill(0);
    for (let op = first; op < last; op++)
      forHalves(t, op, (kind, chunk, start, stop) => addColumns(sums, across, (start - view.from) * scale,
        (stop - view.from) * scale - gapBehind((stop - start) * panel.scale) * panel.ratio,
        colourOf(t, panel.colours, op, kind, chunk).channels));
    putColumns(sums, across, 1, image, rank);
  }
  picture.getContext('2d').putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  const wide = Math.max(0, end - LEFT), part = wide * panel.ratio;
  for (const {rank} of lanes)
    context.drawImage(picture, 0, rank, part, 1, LEFT, rank * panel.lane + gap, wide, panel.body - 2 * gap);
}

/* Kept from one frame to the next. */
function roomFor(panel, across) {
  const {ranks} = panel.timeline;
  if (panel.room === undefined || panel.room.image.width !== across)
    panel.room = {image: new ImageData(across, ranks), sums: new Float64Array(4 * across), picture: new OffscreenCanvas(across, ranks)};
  return panel.room;
}

/* Messages ----------------------------------------------------------------------------------- */

/* Where receives that wait sit beside ops. */
function drawStays(panel, context) {
  const t = panel.timeline;
  context.fillStyle = theme.ink;
  context.globalAlpha = 0.35;
  t.stays.forEach(({from, to}, rank) => {
    for (let i = 0; i < from.length; i++)
      if (to[i] >= view.from && from[i] <= view.to)
        context.fillRect(placeOf(panel, from[i]), rank * panel.lane + panel.body + panel.strip,
          Math.max((to[i] - from[i]) * panel.scale, 0.7), panel.strip - 1);
  });
}

/* Below the ops of a rank what it sends and, below that, what it receives: pale while one end waits for the other,
   between pale and dark where a receive that waits sits beside an op. */
function drawMessages(panel, context) {
  const t = panel.timeline, messages = t.messages;
  for (const moving of [false, true]) {
    if (moving)
      drawStays(panel, context);
    context.fillStyle = moving ? theme.ink : theme.faint;
    context.globalAlpha = moving ? 1 : 0.35;
    for (let i = 0; i < messages.n; i++) {
      if (messages.end[i] < view.from || Math.min(messages.sent[i], messages.received[i]) > view.to)
        continue;
      [[messages.from[i], messages.sent[i], 0], [messages.to[i], messages.received[i], 1]].forEach(([op, issued, line]) => {
        const start = moving ? messages.start[i] : issued, end = moving ? messages.end[i] : messages.start[i];
        if (end > start)
          context.fillRect(placeOf(panel, start), t.rank[op] * panel.lane + panel.body + line * panel.strip,
            Math.max((end - start) * panel.scale, 0.7), panel.strip - 1);
      });
    }
  }
  context.globalAlpha = 1;
}

/* Copies to the host and broadcasts, and below them copies back and reductions. */
function drawAsides(panel, context) {
  for (const {rank, which, start, end} of panel.timeline.asides) {
    if (end < view.from || start > view.to)
      continue;
    context.fillStyle = theme.asides[Math.min(which, 2)];
    context.fillRect(placeOf(panel, start), rank * panel.lane + panel.body + which % 2 * panel.strip,
      Math.max((end - start) * panel.scale, 0.7), panel.strip - 1);
  }
}

/* Paths and what is pointed at --------------------------------------------------------------- */

const middleOf = (panel, rank) => rank * panel.lane + panel.body / 2;

function outline(panel, context, op, colour, thick) {
  const t = panel.timeline, x0 = placeOf(panel, t.start[op]), wide = (t.end[op] - t.start[op]) * panel.scale;
  context.strokeStyle = colour;
  context.lineWidth = thick;
  context.strokeRect(x0 - 0.5, t.rank[op] * panel.lane, Math.max(wide, 2), panel.body);
}

/* From op to op, the last one first: outlined where they are wide enough, joined by lines where the rank changes; with
 * a rim, so that they stand out from any colour. */
function drawPath(panel, context, ops, colour) {
  const t = panel.timeline, span = view.to - view.from, path = new Path2D();
  ops.forEach((op, i) => {
    if (t.end[op] < view.from - span || t.start[op] > view.to + span)
      return;
    const x0 = placeOf(panel, t.start[op]), x1 = placeOf(panel, t.end[op]), y = middleOf(panel, t.rank[op]);
    if (x1 - x0 >= 6) {
      path.rect(x0, t.rank[op] * panel.lane + 1, x1 - x0 - 1, panel.body - 2);
    } else {
      path.moveTo(x0, y);
      path.lineTo(x1, y);
    }
    if (i > 0 && t.rank[ops[i - 1]] !== t.rank[op]) {
      path.moveTo(x1, y);
      path.lineTo(placeOf(panel, t.start[ops[i - 1]]), middleOf(panel, t.rank[ops[i - 1]]));
    }
  });
  for (const [thick, stroke] of [[3.5, theme.paper], [1.8, colour]]) {
    context.lineWidth = thick;
    context.strokeStyle = stroke;
    context.stroke(path);
  }
}

function drawPointed(panel, context) {
  const {hover, pinned} = view;
  if (pinned !== null && pinned.panel === panel) {
    drawPath(panel, context, panel.chain, theme.pin);
    outline(panel, context, pinned.op, theme.pin, 3);
  }
  if (hover === null)
    return;
  /* The same moment in all timelines. */
  context.strokeStyle = theme.faint;
  context.globalAlpha = 0.6;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(Math.round(placeOf(panel, hover.time)) + 0.5, 0);
  context.lineTo(Math.round(placeOf(panel, hover.time)) + 0.5, panel.height);
  context.stroke();
  context.globalAlpha = 1;
  if (hover.panel !== panel || hover.op === NONE)
    return;
  const cause = opThatLet(panel.timeline, hover.op);
  if (cause !== NONE)
    drawPath(panel, context, [hover.op, cause], theme.focus);
  outline(panel, context, hover.op, theme.focus, 2);
}

/* Names of ranks, the axis, and where the step ends. */
function drawFrame(panel, context) {
  const t = panel.timeline, bottom = panel.lanes, every = Math.max(1, ticksOf(0, 14 / panel.lane, 1).step);
  const [unit, name] = unitOf(view.to - view.from), {ticks, step} = ticksOf(view.from / unit, view.to / unit, panel.plot / 90);
  context.fillStyle = theme.faint;
  context.font = '11px system-ui, "DejaVu Sans", sans-serif';
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  for (let rank = 0; rank < t.ranks; rank += every)
    context.fillText(rank === 0 ? 'rank 0' : String(rank), LEFT - 8, Math.max(middleOf(panel, rank) + 0.5, 6));
  context.strokeStyle = theme.grid;
  context.lineWidth = 1;
  context.beginPath();
  context.moveTo(LEFT, bottom + 0.5);
  context.lineTo(LEFT + panel.plot, bottom + 0.5);
  for (const tick of ticks) {
    const x = Math.round(placeOf(panel, tick * unit)) + 0.5;
    context.moveTo(x, bottom);
    context.lineTo(x, bottom + 4);
  }
  context.stroke();
  context.textBaseline = 'top';
  context.textAlign = 'center';
  ticks.forEach((tick, i) => {
    const x = placeOf(panel, tick * unit), text = printTick(tick, step) + (i === ticks.length - 1 ? ' ' + name : '');
    context.textAlign = x > LEFT + panel.plot - 24 ? 'right' : 'center';
    context.fillText(text, Math.min(x, LEFT + panel.plot), bottom + 6);
  });
  if (t.makespan >= view.from && t.makespan <= view.to) {
    const x = Math.min(Math.round(placeOf(panel, t.makespan)) + 0.5, LEFT + panel.plot - 0.5);
    context.strokeStyle = theme.faint;
    context.setLineDash([3, 3]);
    context.beginPath();
    context.moveTo(x, 0);
    context.lineTo(x, bottom);
    context.stroke();
    context.setLineDash([]);
  }
}

/* Words -------------------------------------------------------------------------------------- */

/* The op that ended last before @op could start, back over the messages in between. */
function opThatLet(t, op) {
  let cause = t.cause[op];
  while (cause < NONE)
    cause = t.messages.cause[-2 - cause];
  return cause;
}

const nameOp = (t, op) => t.name[op].startsWith('(') ? 'pair ' + t.name[op].slice(1, t.name[op].indexOf(')')).replace(';', ' + ') : t.name[op];

function describeMessage(t, i) {
  const messages = t.messages, from = messages.from[i], to = messages.to[i];
  return 'the ' + (messages.backward[i] ? 'gradient' : 'activation') + ' of ' + nameOp(t, from) + ' from rank ' + t.rank[from] +
    ' to rank ' + t.rank[to] + ', which moved from ' + printMs(messages.start[i]) + ' to ' + printMs(messages.end[i]);
}

/* What @op waited for, in words. */
function describeCause(t, op) {
  const cause = t.cause[op];
  if (cause === NONE)
    return 'nothing: it starts the step on its rank';
  if (cause < NONE) {
    const i = -2 - cause, before = t.messages.cause[i];
    const why = before < NONE ? '; that waited for ' + describeMessage(t, -2 - before) :
      before >= 0 ? '; that waited for ' + nameOp(t, before) + ' of rank ' + t.rank[before] : '';
    return describeMessage(t, i) + why;
  }
  if (t.rank[cause] === t.rank[op])
    return nameOp(t, cause) + ' before it on its rank';
  const took = t.start[op] - t.end[cause];
  return nameOp(t, cause) + ' of rank ' + t.rank[cause] + (took > 0 ?
    ', which ended at ' + printMs(t.end[cause]) + '; the message took ' + printMs(took) : ', which ended as it starts');
}

function describeHalf(t, half, own) {
  return (own ?? data.looks[KINDS[half.kind]].title) + ' of micro-batch ' + half.microbatch + ', stage ' + half.stage +
    (t.chunkName === null ? '' : ', ' + t.chunkName + ' ' + half.chunk);
}

/* [what, words] about @op, for the tip. */
function describeSpeed(t, op) {
  const percent = (100 * Math.abs(excessOf(t, op))).toFixed(1);
  return printMs(t.sustained[op]) + ', took ' + (percent === '0.0' ? 'as long' : percent + ' % ' + (excessOf(t, op) < 0 ? 'less' : 'more'));
}

function describeOp(panel, op) {
  const t = panel.timeline, rank = t.rank[op];
  const idle = t.start[op] - (op > t.begin[rank] ? t.end[op - 1] : 0);
  const first = {kind: t.kind[op], microbatch: t.microbatch[op], stage: t.stage[op], chunk: t.chunk[op]};
  const [, letters] = /^\d+([A-Z_]+)/.exec(t.name[op]) ?? [];
  const own = letters === undefined || KINDS.includes(letters) ? undefined : letters;
  const halves = Number.isNaN(t.half[op]) ? [['op', describeHalf(t, first, own)]] :
    [['forward', describeHalf(t, first)], ['backward', describeHalf(t, t.second.get(op))]];
  const phase = phaseOf(t, op);
  return [
    ...halves,
    ['rank', rank + (phase === '' ? '' : ', phase ' + phase)],
    ['time', printMs(t.start[op]) + ' to ' + printMs(t.end[op]) + ', takes ' + printMs(t.end[op] - t.start[op])],
    ...(t.varies ? [['sustained', describeSpeed(t, op)]] : []),
    ...(idle > 0 ? [['idle before', printMs(idle)]] : []),
    ['waited for', describeCause(t, op)],
    ['held', describeHeld(t, rank, t.start[op])],
  ];
}

/* The same of a gap before @next, or behind the last op. */
function describeIdle(panel, rank, next) {
  const t = panel.timeline, from = next > t.begin[rank] ? t.end[next - 1] : 0;
  const last = next >= t.begin[rank + 1], until = last ? t.makespan : t.start[next];
  return [
    ['rank', String(rank)],
    ['time', printMs(from) + ' to ' + printMs(until) + ', ' + printMs(until - from)],
    last ? ['then', 'nothing more in this step'] : ['then', nameOp(t, next)],
    ...(last ? [] : [['waits for', describeCause(t, next)]]),
    ['held', describeHeld(t, rank, from)],
  ];
}
