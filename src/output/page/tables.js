/* Tables. Texts go into the page as texts, never as HTML. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {}))
    if (name.startsWith('on'))
      element.addEventListener(name.slice(2), value);
    else if (value === true || value === false)
      element[name] = value;
    else if (value !== undefined && value !== null)
      element.setAttribute(name, value);
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}

/* Columns that have a value in some row, with how they are printed: times with as many decimals in all. */
function usedColumns(table) {
  const rows = table.rows.flat();
  const known = at => rows.map(row => row[at]).filter(value => value !== null);
  const times = table.columns.flatMap((column, at) => column.kind === 'time' ? known(at) : []);
  return table.columns.map((column, at) => {
    const values = column.kind === 'time' && known(at).length > 0 ? times : known(at);
    const print = column.kind === 'text' ? value => value : printerOf(column.kind, values);
    return {...column, at, print, used: values.length > 0, most: Math.max(...values.filter(Number.isFinite)),
      title: print.unit !== undefined ? print.unit : column.title};
  }).filter(column => column.used);
}

/* Neighbours of one group have one title over them. */
function groupRow(columns, first) {
  const row = make('tr', {}, make('th', {}, first));
  for (let from = 0, to; from < columns.length; from = to) {
    for (to = from + 1; to < columns.length && columns[from].group !== null &&
      columns[to].group === columns[from].group;)
      to++;
    row.append(make('th', {class: to - from > 1 ? 'group' : 'group single', colspan: to - from,
      scope: 'colgroup'}, columns[from].group || ''));
  }
  return row;
}

function cellOf(column, row) {
  const value = row[column.at];
  const cell = make('td', column.kind === 'text' ? {class: 'text'} : {}, value === null ? '' : column.print(value));
  return cell;
}

/* Rows are sorted by a column at its title: first the way that puts what is wanted on top, then the other. */
function sortBy(head, body, th, key) {
  const order = th.getAttribute('aria-sort') === 'ascending' ? 'descending' : 'ascending';
  const sign = order === 'ascending' ? 1 : -1;
  const rows = [...body.rows].map((row, at) => ({row, at, value: key(row)}));
  for (const other of head.querySelectorAll('th[aria-sort]'))
    other.removeAttribute('aria-sort');
  th.setAttribute('aria-sort', order);
  rows.sort((a, b) => {
    if (a.value === null || b.value === null)
      return (a.value === null) - (b.value === null) || a.at - b.at;
    return (a.value < b.value ? -sign : a.value > b.value ? sign : 0) || a.at - b.at;
  });
  body.append(...rows.map(({row}) => row));
}

function sortableTitle(title, head, body, key, attributes) {
  const th = make('th', {scope: 'col', ...attributes});
  th.append(make('button', {class: 'sort', type: 'button', onclick: () => sortBy(head, body, th, key)}, title));
  return th;
}

/* The table of schedules; @choose makes what stands before a name. */
function makeMainTable(choose) {
  const columns = usedColumns(data.table);
  const head = make('thead'), body = make('tbody');
  const valueOf = new Map();
  const meaning = new Map(data.legend);
  const titles = make('tr', {}, sortableTitle('schedule', head, body, row => valueOf.get(row).name));
  for (const column of columns)
    titles.append(sortableTitle(column.title, head, body, row => valueOf.get(row).cells[column.at],
      {title: meaning.get(column.group) || meaning.get(column.group + ' ' + column.title)}));
  head.append(groupRow(columns, ''), titles);
  for (const run of runs) {
    const cells = run.refused ? data.table.columns.map(() => null) : data.table.rows[run.index][0];
    const row = make('tr', {class: run.refused ? 'refused' : run.result.best ? 'best' : ''});
    row.append(make('td', {}, choose(run)));
    if (run.refused)
      row.append(make('td', {class: 'text', colspan: columns.length}, run.result.error.replace(run.name + ': ', '')));
    else
      row.append(...columns.map(column => cellOf(column, cells)));
    columns.forEach((column, i) => {
      const cell = row.cells[i + 1];
      if (run.refused)
        return;
      if (column.key === 'makespan_ms') {
        cell.classList.add('bar');
        cell.style.setProperty('--part', (100 * cells[column.at] / column.most).toFixed(2) + '%');
      }
      if (column.key === 'memory_peak_bytes' && run.result.memory_bytes !== null && run.result.memory_bytes.fits === false) {
        cell.classList.add('over');
        cell.append('!');
        cell.title = 'more than the limit of ' + printBytes(run.result.memory_bytes.limit);
      }
    });
    valueOf.set(row, {name: run.name, cells});
    body.append(row);
  }
  return make('div', {class: 'scroll'}, make('table', {class: 'wide', id: 'schedules'}, head, body));
}

/* Rows of @table that are of one run; @name says what a row is. */
function makeTableOf(table, run, title, name) {
  const rows = table.rows[run.index];
  const columns = usedColumns({columns: table.columns, rows: [rows]});
  const head = make('thead', {}, groupRow(columns, ''),
    make('tr', {}, make('th', {scope: 'col'}, title), ...columns.map(column => make('th', {scope: 'col'}, column.title))));
  const body = make('tbody', {}, ...rows.map((row, i) =>
    make('tr', {}, make('td', {}, name(i)), ...columns.map(column => cellOf(column, row)))));
  return make('div', {class: 'scroll'}, make('table', {}, head, body));
}

/* Steps drawn at random: median with its interval, and from 5 % to 95 % as a line. */
function makeSamples() {
  const drawn = runs.filter(run => !run.refused && run.result.samples !== undefined);
  const all = drawn.flatMap(run => [run.result.samples.makespan_ms.p5.value, run.result.samples.makespan_ms.p99.value]);
  const least = Math.min(...all), span = Math.max(Math.max(...all) - least, 1e-9);
  const place = value => (100 * (value - least) / span).toFixed(2) + '%';
  const head = make('thead', {}, make('tr', {}, ...['schedule', 'makespan, ms: median', '95 % confidence interval', 'p5', 'p95', 'p99',
    'fastest in', 'p5, median, p95'].map(title => make('th', {scope: 'col'}, title))));
  const body = make('tbody');
  for (const run of drawn) {
    const makespan = run.result.samples.makespan_ms;
    const line = make('i'), tick = make('b');
    line.style.left = place(makespan.p5.value);
    line.style.right = (100 - parseFloat(place(makespan.p95.value))) + '%';
    tick.style.left = 'calc(' + place(makespan.median.value) + ' - 1px)';
    body.append(make('tr', {}, ...[run.name, makespan.median.value.toFixed(3),
      makespan.median.low.toFixed(3) + ' to ' + makespan.median.high.toFixed(3), makespan.p5.value.toFixed(3),
      makespan.p95.value.toFixed(3), makespan.p99.value.toFixed(3),
      (100 * run.result.samples.wins / data.result.samples.n).toFixed(1) + ' %'].map(text => make('td', {}, text)),
      make('td', {}, make('span', {class: 'spread'}, line, tick))));
  }
  const source = data.result.samples.jitter === null ? 'from what was measured' :
    'with a relative standard deviation of ' + data.result.samples.jitter;
  return make('section', {}, make('h2', {}, 'Steps drawn at random'),
    make('p', {class: 'faint'}, data.result.samples.n + ' steps drawn ' + source + ', seed ' + data.result.samples.seed),
    make('div', {class: 'scroll'}, make('table', {}, head, body)));
}

function makeComponents() {
  const titles = ['component', 'phase', 'implementation', 'samples', 'mean, ms', 'standard deviation, ms'];
  const body = make('tbody', {}, ...data.components.map(part => make('tr', {},
    ...[part.component, part.phase, part.impl].map(text => make('td', {class: 'text'}, text)),
    ...[String(part.samples), part.mean_ms.toFixed(4), part.sd_ms.toFixed(4)].map(text => make('td', {}, text)))));
  return make('details', {}, make('summary', {}, 'What was measured: ' + data.components.length + ' components of one layer'),
    make('div', {class: 'scroll'}, make('table', {}, make('thead', {}, make('tr', {},
      ...titles.map((title, i) => make('th', {scope: 'col', class: i < 3 ? 'text' : ''}, title)))), body)));
}

/* The answer: what a terminal shows, all rows of it --------------------------------------------- */

/* "12.5 %" and "1.25x" as numbers; NaN where it is none. */
const numberIn = text => text === null || !/^[-+]?[\d.]+/.test(text) || / to /.test(text) ? NaN : parseFloat(text);

/* Times have bars: the first column of ms or s whose cells are numbers. */
function barColumn(columns, rows) {
  return columns.findIndex((column, at) => ['ms', 's'].includes(column.title) &&
    rows.length > 1 && rows.every(row => row.cells[at] === null || numberIn(row.cells[at]) >= 0));
}

function makeAnswerTable({columns, rows}) {
  const head = make('thead'), body = make('tbody'), cellsOf = new Map();
  const bar = barColumn(columns, rows), most = Math.max(...rows.map(row => numberIn(row.cells[bar])).filter(Number.isFinite));
  const keyOf = at => rows.every(row => row.cells[at] === null || Number.isFinite(numberIn(row.cells[at]))) ?
    row => { const value = numberIn(cellsOf.get(row)[at]); return Number.isNaN(value) ? null : value; } : row => cellsOf.get(row)[at];
  head.append(groupRow(columns.slice(1), columns[0].group || ''), make('tr', {}, ...columns.map((column, at) =>
    sortableTitle(column.title, head, body, keyOf(at), {class: column.left ? 'text' : ''}))));
  for (const {look, cells} of rows) {
    const row = make('tr', {class: look === null ? '' : look}, ...cells.map((text, at) => {
      const cell = make('td', {class: columns[at].left ? 'text' : ''}, at === 0 && look === 'best' ? text.replace(/^\* /, '') : text || '');
      if (at === bar && Number.isFinite(numberIn(text))) {
        cell.classList.add('bar');
        cell.style.setProperty('--part', (100 * numberIn(text) / most).toFixed(2) + '%');
      }
      return cell;
    }));
    cellsOf.set(row, cells);
    body.append(row);
  }
  return make('div', {class: 'scroll'}, make('table', {id: 'answer-table'}, head, body));
}

/* Where two options are swept: who wins at each point, and by how much. */
function makeWinners({columns, rows}) {
  const best = columns.findIndex(column => column.title === 'best'), behind = columns.findIndex(column => column.title === 'by %');
  const swept = columns.slice(0, Math.max(best, 0)).map((column, at) => [at, [...new Set(rows.map(row => row.cells[at]))]])
    .filter(([, values]) => values.length > 1);
  if (swept.length !== 2)
    return null;
  const [[y, down], [x, across]] = swept, names = [...new Set(rows.map(row => row.cells[best]))];
  const at = new Map(rows.map(row => [row.cells[y] + ' ' + row.cells[x], row.cells]));
  return make('div', {class: 'scroll'}, make('table', {class: 'grid', id: 'winners'},
    make('thead', {}, make('tr', {}, make('th', {}, columns[y].title + ' \\ ' + columns[x].title),
      ...across.map(value => make('th', {scope: 'col'}, value)))),
    make('tbody', {}, ...down.map(value => make('tr', {}, make('th', {scope: 'row'}, value), ...across.map(other => {
      const cells = at.get(value + ' ' + other);
      if (cells === undefined || cells[best] === null)
        return make('td', {}, '');
      const cell = make('td', {title: behind < 0 ? '' : 'next: ' + cells[behind - 1]}, make('b', {}, cells[best]),
        behind < 0 || cells[behind] === null ? null : make('span', {}, ' +' + cells[behind] + ' % ' + cells[behind - 1]));
      cell.style.setProperty('--hue', String(Math.round(360 * names.indexOf(cells[best]) / names.length)));
      return cell;
    }))))));
}

function makeAnswer(whole) {
  const {verdict, table, below, failed, notes} = data.answer;
  return make('section', {id: 'answer'}, ...verdict.map(line => make('p', {class: 'verdict'}, line)),
    ...(whole && table !== null ? [makeWinners(table), makeAnswerTable(table), ...below.map(line => make('p', {class: 'faint'}, line))] : []),
    ...failed.map(line => make('p', {class: 'failed'}, line)),
    whole && notes.length > 0 ? make('ul', {class: 'notes'}, ...notes.map(note => make('li', {}, note))) : null);
}

/* Another report ------------------------------------------------------------------------------ */

/* The schedules of both pages, by name: step and bubble here, there, and how they differ. */
function makeBeside(other, name) {
  const there = new Map(other.result.schedules.filter(one => one.error === undefined).map(one => [one.name, one]));
  const percent = (a, b) => (b >= a ? '+' : '\u2212') + Math.abs(100 * (b / a - 1)).toFixed(1) + ' %';
  const rows = runs.filter(run => !run.refused && there.has(run.name)).map(run => {
    const b = there.get(run.name), a = run.result;
    return [run.name, trimmed(a.makespan_ms, 3), trimmed(b.makespan_ms, 3), percent(a.makespan_ms, b.makespan_ms),
      (100 * a.bubble.ratio).toFixed(1), (100 * b.bubble.ratio).toFixed(1), trimmed(a.activations.peak, 2), trimmed(b.activations.peak, 2)];
  });
  return make('div', {id: 'beside'}, make('p', {}, 'This page (A) beside ' + name + ' (B): '), make('code', {}, other.command),
    ...(other.answer === undefined ? [] : other.answer.verdict.map(line => make('p', {}, 'B: ' + line))),
    rows.length === 0 ? make('p', {class: 'none'}, 'No schedule is on both pages.') : makeAnswerTable({columns:
      ['schedule', 'step A, ms', 'step B, ms', 'B against A', 'bubble A, %', 'bubble B, %', 'activations A', 'activations B']
        .map((title, at) => ({group: null, title, left: at === 0})), rows: rows.map(cells => ({look: null, cells}))}));
}

function makePicker() {
  const place = make('div');
  const input = make('input', {type: 'file', accept: '.html', id: 'other', onchange: async event => {
    const file = event.target.files[0];
    try {
      const other = JSON.parse(new DOMParser().parseFromString(await file.text(), 'text/html').getElementById('data').textContent);
      place.replaceChildren(makeBeside(other, file.name));
    } catch (error) {
      place.replaceChildren(make('p', {class: 'none'}, file.name + ' is no report of pipesim with schedules.'));
    }
  }});
  return make('section', {class: 'choices'}, make('h2', {}, 'Beside another report'), make('label', {}, 'A page that --report wrote: ', input), place);
}
