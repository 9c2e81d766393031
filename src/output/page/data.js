/* What the page is of. Times are ns; an op is an index into the arrays of its timeline, which has the ops of rank
 * after rank. */
const data = JSON.parse(document.getElementById('data').textContent);

const KINDS = ['F', 'I', 'W', 'B'];
const NONE = -1;

/* "3F12", "3F12.1" of a slice, or a pair "(3F12;4B2)OVERLAP_F_B" as its two halves. Copies and collectives take no
 * time among ops, but have lanes below. */
function readOpName(name) {
  const half = text => {
    const [, stage, letters, microbatch] = /^(\d+)([A-Z_]+)(\d*)(?:\.\d+)?$/.exec(text) ?? [null, 0, text, 0];
    return {stage: +stage, kind: KINDS.indexOf(data.drawn[letters] ?? letters), microbatch: +microbatch};
  };
  return name.startsWith('(') ? name.slice(1, name.indexOf(')')).split(';').map(half) : [half(name)];
}

function readMessages(raw) {
  if (raw === null)
    return null;
  const messages = {n: raw.from.length};
  for (const key of ['sent', 'received', 'start', 'end'])
    messages[key] = Float64Array.from(raw[key]);
  for (const key of ['from', 'to', 'backward', 'cause'])
    messages[key] = Int32Array.from(raw[key]);
  return messages;
}

/* Ops of one rank behind those that are there. */
function readLane(t, raw, rank) {
  const names = raw.ops === '' ? [] : raw.ops.split(' ');
  let op = t.begin[rank], time = 0, pair = 0;
  names.forEach((name, k) => {
    const [first, second] = readOpName(name);
    t.name[op] = name;
    t.rank[op] = rank;
    t.start[op] = time + raw.gap[k];
    t.end[op] = time = t.start[op] + raw.took[k];
    t.cause[op] = raw.cause[k];
    t.sustained[op] = raw.sustained === undefined ? raw.took[k] : raw.sustained[k];
    t.kind[op] = first.kind;
    t.stage[op] = first.stage;
    t.microbatch[op] = first.microbatch;
    t.chunk[op] = raw.chunk === undefined ? 0 : raw.chunk[k];
    t.longer[op + 1] = t.longer[op] + (raw.took[k] > 0 ? 1 : 0);
    t.half[op] = NaN;
    if (second !== undefined) {
      t.half[op] = t.start[op] + raw.pairs[pair++];
      t.second.set(op, {...second, chunk: raw.pairs[pair++]});
    }
    op++;
  });
  t.begin[rank + 1] = op;
  t.phases[rank] = raw.phases;
  t.changes[rank] = readChanges(t, raw, t.begin[rank]);
  for (let i = 0; i < raw.asides.length; i += 3)
    t.asides.push({rank, which: raw.asides[i], start: raw.asides[i + 1], end: raw.asides[i + 2]});
  t.stays[rank] = {from: raw.beside_from ?? [], to: raw.beside_to ?? []};
}

/* Of several changes at one moment the last counts. */
function readChanges(t, raw, begin) {
  const at = raw.change.map(change => (change % 2 ? t.end : t.start)[begin + (change >> 1)]);
  const last = values => Float64Array.from(values.filter((value, i) => at[i] !== at[i + 1]));
  return {at: last(at), held: last(raw.held.map(held => held * t.unit)), bytes: raw.bytes === undefined ? null : last(raw.bytes),
    rest: raw.rest, parts: readParts(raw.parts ?? {}, last),
    over: raw.over ?? null, overAt: raw.over === undefined ? null : t.start[begin + raw.over_op]};
}

/* [name, bytes before the first change, bytes at each change], of each kind of bytes. */
function readParts(parts, last) {
  return Object.entries(parts).map(([name, values]) => [name, values[0], last(values.slice(1))]);
}

function readTimeline(raw) {
  const n = raw.ranks.reduce((sum, lane) => sum + lane.took.length, 0);
  const t = {
    n, ranks: raw.ranks.length, begin: [0], p2p: raw.p2p, unit: raw.unit, chunkName: raw.chunks,
    name: new Array(n), rank: new Int32Array(n), kind: new Uint8Array(n), stage: new Int32Array(n),
    microbatch: new Int32Array(n), chunk: new Uint8Array(n), cause: new Int32Array(n),
    start: new Float64Array(n), end: new Float64Array(n),
    longer: new Int32Array(n + 1), /* how many ops before this one take time */
    sustained: new Float64Array(n), /* what an op takes in a chip that never idles, beside nothing */
    varies: raw.ranks.some(lane => lane.sustained !== undefined),
    half: new Float64Array(n), /* of a pair: where its backward half begins */
    second: new Map(), /* of a pair: that half */
    phases: [], changes: [], stays: [], asides: [], messages: readMessages(raw.messages),
  };
  raw.ranks.forEach((lane, rank) => readLane(t, lane, rank));
  t.makespan = t.end.reduce((a, b) => Math.max(a, b), 0);
  t.chunks = 1 + t.chunk.reduce((a, b) => Math.max(a, b), 0);
  return t;
}

const runs = (data.result === null ? [] : data.result.schedules).map((result, i) => ({
  index: i, name: result.name, result, refused: result.error !== undefined,
  timeline: data.timelines[i] === null ? null : readTimeline(data.timelines[i]),
}));

/* The first of the ascending @values from @low to before @high that is above @limit; @high where none is. */
function firstAbove(values, low, high, limit) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] > limit)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/* What @op took against its sustained time: 0.1 is a tenth more. */
const excessOf = (t, op) => t.sustained[op] > 0 ? (t.end[op] - t.start[op]) / t.sustained[op] - 1 : 0;

/* The first op of @rank that ends after @time, or that behind its last. */
const opAfter = (t, rank, time) => firstAbove(t.end, t.begin[rank], t.begin[rank + 1], time);

/* The last change of what a rank holds at @time or before; -1 before the first. */
const changeBefore = (changes, time) => firstAbove(changes.at, 0, changes.at.length, time) - 1;

function phaseOf(t, op) {
  const phases = t.phases[t.rank[op]], at = op - t.begin[t.rank[op]];
  let name = '';
  for (let i = 0; i < phases.length && phases[i] <= at; i += 2)
    name = phases[i + 1];
  return name;
}

/* What let @op start, and what that was let go by, back to what starts the step: ops, the last one first. */
function chainOf(t, op) {
  const ops = [op];
  let cause = t.cause[op];
  while (cause !== NONE)
    if (cause < NONE) {
      cause = t.messages.cause[-2 - cause];
    } else {
      ops.push(cause);
      cause = t.cause[cause];
    }
  return ops;
}

/* The op that ends last, of equals that of the first rank. */
function lastOp(t) {
  for (let rank = 0; rank < t.ranks; rank++)
    if (t.begin[rank + 1] > t.begin[rank] && t.end[t.begin[rank + 1] - 1] === t.makespan)
      return t.begin[rank + 1] - 1;
  return NONE;
}

/* Numbers ---------------------------------------------------------------------------------- */

function trimmed(value, decimals) {
  const text = value.toFixed(decimals);
  return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

const printMs = ns => trimmed(ns / 1e6, 6) + ' ms';

const BYTES = [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'], [1, 'B']];

const byteUnit = bytes => BYTES.find(([size]) => bytes >= size) || BYTES[BYTES.length - 1];

function printBytes(bytes) {
  const [unit, name] = byteUnit(bytes);
  return trimmed(bytes / unit, 3) + ' ' + name;
}

/* The fewest decimals, @most at most, that show all of @values as they are. */
function decimalsOf(values, most) {
  for (let decimals = 0; decimals < most; decimals++)
    if (values.every(value => Math.abs(value - Number(value.toFixed(decimals))) < 1e-9 * Math.max(1, Math.abs(value))))
      return decimals;
  return most;
}

/* How the numbers of a column are printed: by their kind, all alike. */
function printerOf(kind, values) {
  if (kind === 'share')
    return value => (100 * value).toFixed(1);
  if (kind === 'factor')
    return value => value.toFixed(2);
  if (kind === 'bytes') {
    const [unit, name] = byteUnit(Math.max(...values));
    return Object.assign(value => (value / unit).toFixed(unit > 1 ? 1 : 0), {unit: name});
  }
  const decimals = decimalsOf(values, kind === 'time' ? 3 : kind === 'activations' ? 2 : 0);
  return value => value.toFixed(decimals);
}
