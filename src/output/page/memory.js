/* What ranks hold over time: a line a rank, on one scale for all timelines. */
const valuesOf = changes => view.memory === 'bytes' ? changes.bytes : changes.held;

/* Before the first change: parameters. */
const restOf = changes => view.memory === 'bytes' ? changes.rest : 0;

/* The scale: from nothing to the most that any rank holds, but where parameters take much of that from a little
 * below them: what changes is above. */
function scaleMemory() {
  let most = 0, rest = Infinity;
  for (const changes of panels.flatMap(panel => panel.timeline.changes)) {
    rest = Math.min(rest, restOf(changes));
    most = valuesOf(changes).reduce((a, b) => Math.max(a, b), Math.max(most, restOf(changes)));
  }
  view.most = most || 1;
  view.floor = rest > 0.3 * view.most && rest < Infinity ? 0.95 * rest : 0;
}

function heldAt(run, rank, time) {
  const changes = run.timeline.changes[rank], at = changeBefore(changes, time);
  return at < 0 ? restOf(changes) : valuesOf(changes)[at];
}

function describeHeld(t, rank, time) {
  const changes = t.changes[rank], at = changeBefore(changes, time);
  const held = at < 0 ? 0 : changes.held[at];
  const words = trimmed(held, 3) + (held === 1 ? ' activation' : ' activations');
  if (changes.bytes === null)
    return words;
  const parts = changes.parts.map(([name, rest, bytes]) => [name, at < 0 ? rest : bytes[at]]).filter(([, bytes]) => bytes > 0);
  return words + ', ' + printBytes(at < 0 ? changes.rest : changes.bytes[at]) +
    (parts.length > 1 ? ': ' + parts.map(([name, bytes]) => name + ' ' + printBytes(bytes)).join(', ') : '');
}

/* What the bytes of a rank are of, from the bottom: a hue a kind, parameters grey. */
function colourOfPart(part) {
  return part === 0 ? 'hsl(220 6% ' + (theme.dark ? 42 : 74) + '%)'
    : 'hsl(' + [0, 44, 18, 330, 200, 160, 0][part % 7] + ' ' + (part === 6 ? 80 : 62) + '% ' + (theme.dark ? 48 : 76) + '%)';
}

/* The bytes of one rank, piled up by what they are of. Each column of pixels has the moment at which it holds most. */
function pileParts(panel, context, rank, yOf, bottom) {
  const changes = panel.timeline.changes[rank];
  const end = Math.min(placeOf(panel, panel.timeline.makespan), LEFT + panel.plot);
  const total = at => at < 0 ? changes.rest : changes.bytes[at];
  for (let at = changeBefore(changes, view.from), x = LEFT; x < end;) {
    let next = at + 1, most = at;
    for (; next < changes.at.length && placeOf(panel, changes.at[next]) < x + 1; next++)
      if (total(next) > total(most))
        most = next;
    const to = next < changes.at.length ? Math.min(placeOf(panel, changes.at[next]), end) : end;
    let sum = 0;
    changes.parts.forEach(([, rest, bytes], part) => {
      const value = most < 0 ? rest : bytes[most], y = Math.min(yOf(sum), bottom);
      sum += value;
      context.fillStyle = colourOfPart(part);
      context.fillRect(x, yOf(sum), to - x + 0.5, Math.max(y - yOf(sum), 0));
    });
    at = next - 1;
    x = Math.max(to, x + 0.5);
  }
}

/* The rank that holds most at its fullest. */
function fullestRank(panel) {
  const most = panel.timeline.changes.map(changes => changes.bytes.reduce((a, b) => Math.max(a, b), changes.rest));
  return most.indexOf(Math.max(...most));
}

/* Where ranks first hold more than they may. */
function markOver(panel, context, yOf) {
  panel.timeline.changes.forEach((changes, rank) => {
    if (changes.over === null || changes.overAt < view.from || changes.overAt > view.to)
      return;
    const x = placeOf(panel, changes.overAt), y = yOf(heldAt(panel.run, rank, changes.overAt));
    context.strokeStyle = context.fillStyle = theme.bad;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x - 4, y - 4);
    context.lineTo(x + 4, y + 4);
    context.moveTo(x - 4, y + 4);
    context.lineTo(x + 4, y - 4);
    context.stroke();
  });
}

/* From the first rank to the last: one hue to the other, so that neighbours are alike. */
function colourOfRank(rank, ranks) {
  const part = ranks > 1 ? rank / (ranks - 1) : 0;
  return 'hsl(' + Math.round(215 + 130 * part) + ' 62% ' + (theme.dark ? 66 : 46) + '%)';
}

/* A step at each change. Where there are more changes than pixels, each column from its least to its most. */
function traceRank(panel, context, rank, yOf) {
  const changes = panel.timeline.changes[rank], values = valuesOf(changes);
  let at = changeBefore(changes, view.from), x = LEFT, y = yOf(at < 0 ? restOf(changes) : values[at]);
  const end = Math.min(placeOf(panel, panel.timeline.makespan), LEFT + panel.plot);
  context.beginPath();
  context.moveTo(x, y);
  for (at++; at < changes.at.length && changes.at[at] <= view.to;) {
    const column = placeOf(panel, changes.at[at]);
    let low = y, high = y;
    context.lineTo(column, y);
    for (; at < changes.at.length && placeOf(panel, changes.at[at]) < column + 0.5; at++) {
      y = yOf(values[at]);
      low = Math.max(low, y);
      high = Math.min(high, y);
    }
    context.lineTo(column, low);
    context.lineTo(column, high);
    context.lineTo(column, y);
    x = column;
  }
  context.lineTo(Math.max(x, end), y);
  context.stroke();
}

function drawMemory(panel, context) {
  const top = panel.lanes + AXIS + 24, height = panel.chart - 30, bottom = top + height;
  const most = view.most, limit = view.memory === 'bytes' ? panel.run.result.memory_bytes.limit : null;
  const scaleTo = limit !== null && limit < 1.6 * most ? Math.max(most, limit) : most;
  const [unit, name] = view.memory === 'bytes' ? byteUnit(scaleTo) : [1, 'activations'];
  const floor = view.floor, all = scaleTo + 0.04 * (scaleTo - floor) - floor;
  const yOf = value => bottom - height * (value - floor) / all;
  const {ticks, step} = ticksOf(floor / unit, scaleTo / unit, 5), {ranks} = panel.timeline;
  context.font = '11px system-ui, "DejaVu Sans", sans-serif';
  context.textBaseline = 'middle';
  context.textAlign = 'right';
  context.lineWidth = 1;
  context.strokeStyle = theme.grid;
  context.fillStyle = theme.faint;
  context.beginPath();
  for (const tick of ticks) {
    context.moveTo(LEFT, Math.round(yOf(tick * unit)) + 0.5);
    context.lineTo(LEFT + panel.plot, Math.round(yOf(tick * unit)) + 0.5);
    context.fillText(printTick(tick, step), LEFT - 8, yOf(tick * unit));
  }
  context.stroke();
  context.save();
  context.beginPath();
  context.rect(LEFT, top - 4, panel.plot, height + 8);
  context.clip();
  panel.piled = view.memory === 'bytes' ? fullestRank(panel) : NONE;
  if (panel.piled !== NONE)
    pileParts(panel, context, panel.piled, yOf, bottom);
  for (let rank = 0; rank < ranks; rank++) {
    context.strokeStyle = colourOfRank(rank, ranks);
    context.lineWidth = 1.2;
    traceRank(panel, context, rank, yOf);
  }
  if (limit !== null && limit <= scaleTo) {
    context.strokeStyle = theme.bad;
    context.lineWidth = 1.2;
    context.setLineDash([6, 4]);
    context.beginPath();
    context.moveTo(LEFT, yOf(limit));
    context.lineTo(LEFT + panel.plot, yOf(limit));
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = theme.bad;
    context.textAlign = 'right';
    context.textBaseline = 'bottom';
    context.fillText('limit ' + printBytes(limit), LEFT + panel.plot - 6, yOf(limit) - 1);
    markOver(panel, context, yOf);
  }
  context.restore();
  labelMemory(panel, context, top, name);
  panel.yOf = yOf;
  panel.valueAt = y => floor + (bottom - y) * all / height;
}

/* "held by a rank, GiB with parameters: rank 0 to rank 7", from the right. */
function labelMemory(panel, context, top, name) {
  const {ranks} = panel.timeline, what = 'held by a rank, ' + name + (view.memory === 'bytes' ? ' with parameters' : '') +
    (view.floor > 0 ? ', the scale begins above 0' : '');
  const words = [[what + (ranks > 1 ? ': ' : ''), theme.faint]];
  if (ranks > 1)
    words.push(['rank 0', colourOfRank(0, ranks)], [' to ', theme.faint], ['rank ' + (ranks - 1), colourOfRank(ranks - 1, ranks)]);
  if (panel.piled !== NONE) {
    words.push([', of rank ' + panel.piled + ':', theme.faint]);
    panel.timeline.changes[panel.piled].parts.forEach(([part, rest, bytes], i) => {
      if (rest > 0 || bytes.some(value => value > 0))
        words.push(['  \u25a0 ', colourOfPart(i)], [part, theme.faint]);
    });
  }
  let x = LEFT + panel.plot - 4;
  context.textAlign = 'right';
  context.textBaseline = 'top';
  for (const [text, colour] of words.reverse()) {
    context.fillStyle = colour;
    context.fillText(text, x, top - 18);
    x -= context.measureText(text).width;
  }
}

/* The line of the rank that is pointed at, over those of all. */
function pointMemory(panel, context, rank) {
  clipped(panel, context, () => {
    for (const [thick, colour] of [[4.5, theme.paper], [2.2, colourOfRank(rank, panel.timeline.ranks)]]) {
      context.lineWidth = thick;
      context.strokeStyle = colour;
      traceRank(panel, context, rank, panel.yOf);
    }
  });
}

/* The rank whose line is nearest to @y at @time, where one is near. */
function rankNear(panel, y, time) {
  const wanted = panel.valueAt(y);
  let best = NONE, least = Infinity;
  for (let rank = 0; rank < panel.timeline.ranks; rank++) {
    const distance = Math.abs(heldAt(panel.run, rank, time) - wanted);
    if (distance < least) {
      least = distance;
      best = rank;
    }
  }
  return best;
}
