'use strict';
// Functions make markup as text, so that they run without a browser, too. docs/report.md documents the data, and the
// ids and classes.

// Colours that stand out from white and from black.
const COLOURS = ['#4e79a7', '#76b7b2', '#9c9ed6', '#8c8c8c', '#e15759', '#f28e2b', '#d4b13f', '#b07aa1'];

const escapeText = text =>
  String(text).replace(/[\u0000-\u001f]/g, ' ').replace(/[&<>"']/g, sign => `&#${sign.charCodeAt(0)};`);

// An element: attribute values are text, children are markup.
function tag(name, attributes, ...children) {
  const list = Object.entries(attributes).map(([key, value]) => ` ${key}="${escapeText(value)}"`);
  return `<${name}${list.join('')}>${children.join('')}</${name}>`;
}

//---- Numbers ----

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

function byteUnit(bytes) {
  let power = 0;
  for (; bytes / 1024 ** power >= 1024 && power + 1 < UNITS.length; ++power);
  return { size: 1024 ** power, name: UNITS[power] };
}

function showBytes(bytes) {
  const unit = byteUnit(bytes);
  return unit.size === 1 ? `${bytes} B` : `${(bytes / unit.size).toFixed(2)} ${unit.name}`;
}

function timeUnit(seconds) {
  if (seconds >= 10) return { size: 1, name: 's' };
  return seconds >= 1e-3 ? { size: 1e-3, name: 'ms' } : { size: 1e-6, name: 'µs' };
}

const showMilliseconds = (seconds, digits = 3) => (seconds * 1e3).toFixed(digits);
const showFlops = flops => flops.toExponential(3);
const sum = numbers => numbers.reduce((total, number) => total + number, 0);
const total = launch => sum(Object.values(launch.live));

//---- Tables ----

// `columns` have a title and `text`, true where cells are words; rows are lists of cells.
function table(id, caption, columns, rows, rowClass = () => '') {
  const styles = columns.map(column => (column.text ? { class: 'text' } : {}));
  const head = columns.map((column, at) => tag('th', { scope: 'col', ...styles[at] }, escapeText(column.title)));
  const body = rows.map((cells, index) =>
    tag('tr', rowClass(index) ? { class: rowClass(index) } : {},
      ...cells.map((cell, at) => tag('td', styles[at], escapeText(cell)))));
  return tag('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': caption },
    tag('table', { id }, tag('caption', {}, escapeText(caption)), tag('thead', {}, tag('tr', {}, ...head)),
      tag('tbody', {}, ...body)));
}

const number = title => ({ title });
const words = title => ({ title, text: true });

const section = (id, title, ...children) => tag('section', { id }, tag('h2', {}, escapeText(title)), ...children);
const paragraph = text => tag('p', { class: 'note' }, escapeText(text));

//---- Charts ----

const pixel = position => position.toFixed(1);

// A linear axis: `low` lies at pixel `from`, `high` at pixel `to`.
function axis(low, high, from, to) {
  return { low, high, from, to, at: value => from + (value - low) / (high - low) * (to - from) };
}

// The least of 1, 2, 5, 10, 20, ... that divides `range` into at most `count` steps.
function roundStep(range, count) {
  const power = 10 ** Math.floor(Math.log10(range / count));
  return power * [1, 2, 5, 10].find(digit => range / (digit * power) <= count);
}

// Up to about `count` round multiples of `unit` on an axis, with what is written there.
function ticks(axis, count, unit = { size: 1, name: '' }) {
  const step = roundStep((axis.high - axis.low) / unit.size, count);
  const found = [];
  for (let index = Math.ceil(axis.low / unit.size / step - 1e-9); index * step * unit.size <= axis.high; ++index) {
    const label = String(Number((index * step).toPrecision(6)));
    found.push({ value: index * step * unit.size, label: index && unit.name ? `${label} ${unit.name}` : label });
  }
  return found;
}

const line = (style, x1, y1, x2, y2) =>
  tag('line', { class: style, x1: pixel(x1), y1: pixel(y1), x2: pixel(x2), y2: pixel(y2) });
const label = (style, x, y, text) => tag('text', { class: style, x: pixel(x), y: pixel(y) }, escapeText(text));

// `inside` drawn in a frame with grid lines; `names` are those of the quantities.
function chart(title, width, height, x, y, xTicks, yTicks, names, inside) {
  const rows = yTicks.map(({ value, label: text }) =>
    line('grid', x.from, y.at(value), x.to, y.at(value)) + label('end', x.from - 8, y.at(value) + 4, text));
  const columns = xTicks.map(({ value, label: text }) =>
    line('axis', x.at(value), y.from, x.at(value), y.from + 5) + label('middle', x.at(value), y.from + 19, text));
  const frame = tag('path', { class: 'axis', d: `M${pixel(x.from)} ${pixel(y.to)}V${pixel(y.from)}H${pixel(x.to)}` });
  return tag('svg', { viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': title },
    tag('title', {}, escapeText(title)), ...inside.below, ...rows, ...columns, frame,
    label('middle', (x.from + x.to) / 2, y.from + 38, names[0]), label('', 4, 14, names[1]), ...inside.above);
}

// Samples beside names, each with a number.
function legend(entries) {
  return tag('ul', { class: 'legend' }, ...entries.map(({ sign, name, text }) =>
    tag('li', {}, tag('svg', { class: 'sign', viewBox: '0 0 16 12', 'aria-hidden': 'true' }, sign),
      escapeText(text === undefined ? name : `${name} ${text}`))));
}

const lineSign = style => line(style, 0, 6, 16, 6);
const areaSign = colour => tag('rect', { width: 16, height: 12, fill: colour });
const peakSign = tag('path', { class: 'peak', d: 'M8 11l-5 -9h10Z' });
const dotSign = tag('circle', { class: 'chosen', cx: 8, cy: 6, r: 5 });

//---- Memory over a step ----

// Seconds of a launch on the timeline: of functions that no step runs, only the one with the fullest point is drawn.
function secondsDrawn(report) {
  const fullest = report.launches[report.memory.fullest];
  return launch => (launch.times || (fullest && launch.function === fullest.function) ? launch.seconds : 0);
}

// The columns of a timeline, over estimated time, and the functions above them. Launches that are narrower together
// than half a pixel are one column, seen as the one with most bytes alive.
function layOut(report, x) {
  const secondsOf = secondsDrawn(report), columns = [], spans = [];
  let seconds = 0;
  report.launches.forEach((launch, index) => {
    const start = seconds;
    seconds += secondsOf(launch);
    if (seconds > start) addLaunch(launch, index, x.at(start), x.at(seconds));
  });
  function addLaunch(launch, index, from, to) {
    let span = spans[spans.length - 1];
    const isFirst = !span || span.function !== launch.function;
    if (isFirst) spans.push(span = { function: launch.function, times: launch.times, from });
    span.to = to;
    if (launch.ends_forward) span.forwardsEnd = to;
    const last = columns[columns.length - 1];
    if (isFirst || to - last.from >= 0.5) columns.push({ from, to, launch, index });
    else {
      last.to = to;
      if (total(launch) > total(last.launch)) Object.assign(last, { launch, index });
    }
  }
  return { columns, spans };
}

// The steps of `upper` from left to right, then those of `lower` back.
function area(columns, lower, upper, y, colour) {
  let path = `M${pixel(columns[0].from)} ${pixel(y.at(upper[0]))}`;
  for (let at = 0; at + 1 < columns.length; ++at)
    if (upper[at] !== upper[at + 1]) path += `H${pixel(columns[at].to)}V${pixel(y.at(upper[at + 1]))}`;
  path += `H${pixel(columns[columns.length - 1].to)}V${pixel(y.at(lower[lower.length - 1]))}`;
  for (let at = columns.length - 1; at > 0; --at)
    if (lower[at] !== lower[at - 1]) path += `H${pixel(columns[at].from)}V${pixel(y.at(lower[at - 1]))}`;
  return tag('path', { class: 'area', fill: colour, d: `${path}H${pixel(columns[0].from)}Z` });
}

function stackAreas(used, columns, y) {
  let lower = columns.map(() => 0);
  return used.map(({ name, colour }) => {
    const upper = columns.map((column, at) => lower[at] + (column.launch.live[name] || 0));
    const drawn = area(columns, lower, upper, y, colour);
    lower = upper;
    return drawn;
  });
}

function drawSpan(span, isFirst, x, y) {
  const divide = at => line('mark', at, y.to, at, y.from);
  const name = span.times === 1 ? span.function : `${span.function}, ${span.times} times a step`;
  let drawn = label('middle', (span.from + span.to) / 2, y.to - 12, name);
  if (!isFirst) drawn += divide(span.from);
  if (span.forwardsEnd === undefined) return drawn;
  return drawn + divide(span.forwardsEnd) + label('end', span.forwardsEnd - 5, y.to + 8, 'forward') +
    label('', span.forwardsEnd + 5, y.to + 8, 'backward');
}

const nameLaunch = launch => `${launch.function} ${launch.number}: ${launch.family} (${launch.ops})`;

// What the reader sees who rests the pointer on a launch.
function drawHit({ from, to, launch }, y) {
  const place = launch.source ? `, ${launch.source}` : '';
  return tag('rect', { class: 'hit', x: pixel(from), y: pixel(y.to), width: pixel(to - from),
    height: pixel(y.from - y.to) },
  tag('title', {}, escapeText(`${nameLaunch(launch)}, ${showBytes(total(launch))} alive${place}`)));
}

// The categories that any launch has bytes of, from the bottom of the stack to its top.
function usedCategories(report) {
  return report.memory.stack.map((name, at) => ({ name, colour: COLOURS[at % COLOURS.length] }))
    .filter(({ name }) => report.launches.some(launch => launch.live[name]));
}

function drawTimeline(report, width) {
  const { arena, budget } = report.memory, seconds = sum(report.launches.map(secondsDrawn(report)));
  if (seconds === 0) return paragraph('No launch takes time.');
  const isBudgetNear = budget !== undefined && budget < 1.5 * arena;
  const y = axis(0, Math.max(1, 1.08 * Math.max(arena, isBudgetNear ? budget : 0)), 372, 46);
  const x = axis(0, seconds, 80, width - 12);
  const { columns, spans } = layOut(report, x);
  const used = usedCategories(report), unit = timeUnit(seconds);
  const peak = columns.filter(column => column.index === report.memory.fullest).map(({ from, to, launch }) =>
    tag('path', { class: 'peak', d: `M${pixel((from + to) / 2)} ${pixel(y.at(total(launch)))}l-5 -9h10Z` }));
  const above = [line('arena', x.from, y.at(arena), x.to, y.at(arena)),
    ...(isBudgetNear ? [line('budget', x.from, y.at(budget), x.to, y.at(budget))] : []), ...peak,
    ...spans.map((span, at) => drawSpan(span, at === 0, x, y)), ...columns.map(column => drawHit(column, y))];
  const names = [`launches in order, by estimated time in ${unit.name}`, 'bytes alive'];
  return chart(`Bytes alive during one step of ${report.model}`, width, 416, x, y,
    ticks(x, width / 90, { size: unit.size, name: '' }), ticks(y, 6, byteUnit(y.high)), names,
    { below: stackAreas(used, columns, y), above });
}

function timelineLegend(report) {
  const { arena, budget, fullest, peak } = report.memory;
  const bytesOf = name => sum(peak.filter(row => row.category === name).map(row => row.bytes));
  const entries = budget === undefined ? [] : [{ sign: lineSign('budget'), name: 'budget', text: showBytes(budget) }];
  entries.push({ sign: lineSign('arena'), name: 'arena', text: showBytes(arena) });
  if (fullest !== undefined)
    entries.push({ sign: peakSign, name: 'alive at the fullest point', text: showBytes(total(report.launches[fullest])) });
  for (const { name, colour } of usedCategories(report).reverse())
    entries.push({ sign: areaSign(colour), name, text: showBytes(bytesOf(name)) });
  return legend(entries);
}

//---- Time against memory ----

// An axis over the values and a tenth more on both sides.
function axisOver(low, high, from, to) {
  const margin = (high > low ? high - low : Math.max(high, 1e-9)) / 10;
  return axis(Math.max(0, low - margin), high + margin, from, to);
}

function drawCurve(report, width) {
  const { curve, chosen, budget } = report.memory, times = curve.map(point => point.seconds);
  const x = axisOver(curve[0].bytes, curve[curve.length - 1].bytes, 80, width - 12);
  const y = axisOver(Math.min(...times), Math.max(...times), 300, 28), unit = timeUnit(Math.max(...times));
  // Between two points nothing better than the smaller one is known.
  const path = curve.map(({ bytes, seconds }, at) => at === 0 ? `M${pixel(x.at(bytes))} ${pixel(y.at(seconds))}` :
    `H${pixel(x.at(bytes))}V${pixel(y.at(seconds))}`).join('') + `H${pixel(x.to)}`;
  const dots = curve.map(({ bytes, seconds }, at) =>
    tag('circle', { class: at === chosen ? 'chosen' : 'dot', cx: pixel(x.at(bytes)), cy: pixel(y.at(seconds)),
      r: at === chosen ? 6 : 3 }, tag('title', {}, `${showBytes(bytes)}, ${showMilliseconds(seconds)} ms`)));
  const isBudgetSeen = budget !== undefined && budget >= x.low && budget <= x.high;
  return chart('Estimated time of a step against the size of the arena', width, 344, x, y,
    ticks(x, width / 130, byteUnit(x.high)), ticks(y, 5, unit), ['bytes of the arena', 'estimated time per step'],
    { below: [], above: [...(isBudgetSeen ? [line('budget', x.at(budget), y.from, x.at(budget), y.to)] : []),
      tag('path', { class: 'curve', stroke: COLOURS[0], d: path }), ...dots] });
}

function curveSection(report) {
  const { curve, chosen, budget } = report.memory;
  const entries = [{ sign: dotSign, name: 'this program', text: showBytes(curve[chosen].bytes) }];
  if (budget !== undefined) entries.push({ sign: lineSign('budget'), name: 'budget', text: showBytes(budget) });
  return section('time-against-memory', 'Time against memory',
    tag('figure', {}, tag('div', { class: 'chart', id: 'curve' }), legend(entries),
      tag('figcaption', {}, 'What keeping less would cost: each point is an arena that a choice of what to keep ' +
        'allows, with the estimated time of a step. This program takes ', arenaSize(report), ' and ',
      stepTime(report), '.')),
    table('curve-points', 'Points of the curve', [number('arena'), number('bytes'), number('estimated ms per step')],
      curve.map(({ bytes, seconds }) => [showBytes(bytes), bytes, showMilliseconds(seconds)]),
      at => (at === chosen ? 'chosen-row' : '')));
}

//---- Losses of a run (tools/plot-log.py) ----

function drawLosses({ curves, levels }, width) {
  const points = curves.flatMap(curve => curve.points), steps = points.map(point => point[0]);
  const losses = [...points.map(point => point[1]), ...levels.map(level => level.value)];
  const low = Math.min(...losses), high = Math.max(...losses), margin = 0.05 * (high - low) || 1;
  const first = Math.min(...steps), last = Math.max(...steps);
  const x = axis(first, last > first ? last : first + 1, 60, width - 12);
  const y = axis(low - margin, high + margin, 372, 28);
  const drawn = curves.map(({ points: list }, at) => tag('polyline', { class: 'curve', stroke: COLOURS[4 * at % 8],
    points: list.map(([step, loss]) => `${pixel(x.at(step))},${pixel(y.at(loss))}`).join(' ') }));
  const lines = levels.map(({ name, value }) => line('level', x.from, y.at(value), x.to, y.at(value)) +
    label('end', x.to - 4, y.at(value) - 5, `${name} ${value.toFixed(2)}`));
  return chart('Losses by step', width, 416, x, y, ticks(x, width / 90), ticks(y, 6), ['step', 'loss'],
    { below: [], above: [...lines, ...drawn] });
}

function renderRun(run) {
  const entries = run.curves.map(({ name }, at) => ({ sign: areaSign(COLOURS[4 * at % 8]), name }));
  const rows = run.curves.flatMap(({ name, points }) => points.map(([step, loss]) => [name, step, loss]));
  return tag('h1', {}, escapeText(run.title)) +
    tag('figure', {}, tag('div', { class: 'chart', id: 'losses' }), legend(entries)) +
    table('loss-points', 'Losses by step', [words('curve'), number('step'), number('loss')], rows);
}

//---- The page of a program ----

// A fact that several tabs tell, by its path in report.json: its text is the same everywhere.
const fact = (path, text) => tag('data', { class: 'fact', value: path }, escapeText(text));
const stepTime = report => fact('step.seconds', `${showMilliseconds(report.step.seconds)} ms`);
const arenaSize = report => fact('memory.arena', showBytes(report.memory.arena));
const showPercent = (part, whole) => `${(whole > 0 ? 100 * part / whole : 0).toFixed(1)} %`;
const note = (...markup) => tag('p', { class: 'note' }, ...markup);

// Seconds of a rank's own work in a launch: collectives run beside it, and waiting is not work.
const workOf = launch => (launch.axes === undefined && launch.waits_for === undefined ? launch.seconds : 0);
const stepWork = report => sum(report.launches.map(launch => launch.times * workOf(launch)));
const measuredOf = (report, index) => (report.measured ? report.measured.seconds[index] : null);

//---- Overview ----

function fitText(report) {
  const { arena, budget, capacity } = report.memory, texts = [];
  if (capacity !== undefined)
    texts.push(`${arena <= capacity ? 'fits into' : 'does not fit into'} the ${showBytes(capacity)} there are`);
  if (budget !== undefined)
    texts.push(`${arena <= budget ? 'within' : 'above'} the budget of ${showBytes(budget)}`);
  return texts.length ? texts.join(', ') : 'memory of the machine unknown (--cluster=FILE tells it)';
}

function overviewTab(report) {
  const { step } = report;
  const batches = `${step.micro_batches} micro-batch${step.micro_batches === 1 ? '' : 'es'}`;
  const rows = [['peak memory', arenaSize(report) + escapeText(`: ${fitText(report)}`)],
    ['step', stepTime(report) + ` (estimated), ${batches}`]];
  if (report.ranks) rows.push(['ranks', escapeText(`${report.ranks.count}: ${report.ranks.mesh}`)]);
  if (step.tokens && step.seconds > 0)
    rows.push(['throughput', fact('step.tokens', `${Math.round(step.tokens / step.seconds)} tokens/s`)]);
  rows.push(['MFU', fact('step.mfu', `${(100 * step.mfu).toFixed(1)} %`)],
    ['launches', fact('step.launches', step.launches)],
    ['FLOPs', fact('step.flops', showFlops(step.flops))], ['bytes', fact('step.bytes', showBytes(step.bytes))],
    ['precision', escapeText(report.precision || 'as exported')], ['machine', escapeText(report.machine)]);
  const facts = tag('dl', {}, ...rows.map(([name, markup]) => tag('dt', {}, name) + tag('dd', {}, markup)));
  const times = report.measured && report.measured.seconds;
  const took = launches => launches.reduce((sum, i) => sum + (times[i] || 0) * report.launches[i].times, 0);
  const costs = report.costliest.map(({ module, seconds, share, launches }) =>
    [module, ...(times ? [showMilliseconds(took(launches))] : []), showMilliseconds(seconds), showPercent(share, 1)]);
  const advice = report.advice.map(({ flag, text }) => tag('li', {}, tag('code', {}, escapeText(flag)),
    escapeText(`: ${text}.`)));
  if (!report.measured)
    advice.push(tag('li', {}, tag('code', {}, '--profile'), ' of the program, then ',
      tag('code', {}, 'hone report RUN --profile=TRACE'), ': measured times beside these estimates.'));
  return section('summary', 'In short', facts) +
    section('costs', 'Costliest modules', table('costliest', 'Of the work of a step; * stands for any number',
      [words('module'), ...(times ? [number('measured ms')] : []), number('estimated ms'), number('share')],
      costs)) +
    section('advice', 'What would help', tag('ul', {}, ...advice)) + measuredSection(report);
}

// The launches that take most beside their estimate; those of less than half a percent of the step are noise.
function worstRatios(report, count) {
  const { measured, launches } = report;
  const found = launches.map((launch, index) => ({ launch, index, seconds: measured.seconds[index] }))
    .filter(({ launch, seconds }) => launch.times && seconds !== null);
  const whole = sum(found.map(({ launch, seconds }) => launch.times * seconds));
  return found.filter(({ launch, seconds }) => launch.times * seconds > 0.005 * whole && launch.seconds > 0)
    .map(row => ({ ...row, ratio: row.seconds / row.launch.seconds })).sort((a, b) => b.ratio - a.ratio)
    .slice(0, count);
}

function measuredSection(report) {
  if (!report.measured) return '';
  const { measured, launches } = report;
  const seconds = sum(launches.map((launch, index) => launch.times * (measured.seconds[index] || 0)));
  return section('measured', 'Measured',
    note(`The launches of a step took ${fact('measured', `${showMilliseconds(seconds)} ms`)} on `,
      escapeText(`${measured.machine} (${measured.file}), their estimates are `),
      `${showMilliseconds(stepWork(report))} ms.`),
    table('worst', 'Most time beside the estimate', [words('launch'), number('measured ms'), number('estimated ms'),
      number('ratio')], worstRatios(report, 10).map(({ launch, seconds: took, ratio }) =>
      [launch.name, showMilliseconds(took), showMilliseconds(launch.seconds), ratio.toFixed(2)])));
}

//---- Modules ----

const PASSES = ['forward', 'backward', 'update'];
const emptyTotals = () => ({ forward: 0, backward: 0, update: 0, flops: [0, 0, 0], bytes: [0, 0, 0], saved: 0,
  measured: 0 });

// Rows of the tree, parents first: path, depth, and the totals of the module with all that it holds.
function moduleRows(report) {
  const rows = new Map([['', { path: '', depth: 0, totals: emptyTotals() }]]);
  report.launches.forEach((launch, index) => {
    if (!launch.times) return;
    const parts = launch.module ? launch.module.split('.') : [`(${launch.pass}, no module)`];
    for (let depth = 0; depth <= parts.length; ++depth) {
      const path = parts.slice(0, depth).join('.');
      if (!rows.has(path)) rows.set(path, { path, depth, name: parts[depth - 1], totals: emptyTotals() });
      const { totals } = rows.get(path), pass = PASSES.indexOf(launch.pass);
      totals[launch.pass] += launch.times * workOf(launch);
      totals.flops[pass] += launch.times * launch.flops;
      totals.bytes[pass] += launch.times * launch.bytes;
      totals.saved += launch.saved || 0;
      totals.measured += launch.times * (measuredOf(report, index) || 0);
    }
  });
  // Parents before children, in the order in which a step meets them.
  const order = [...rows.keys()];
  const firstOf = path => path.split('.').map((_, at, parts) => order.indexOf(parts.slice(0, at + 1).join('.')));
  return [...rows.values()].map(row => ({ ...row, order: row.path ? firstOf(row.path) : [] })).sort((a, b) => {
    for (let at = 0; at < Math.min(a.order.length, b.order.length); ++at)
      if (a.order[at] !== b.order[at]) return a.order[at] - b.order[at];
    return a.order.length - b.order.length;
  });
}

const timeOf = totals => totals.forward + totals.backward + totals.update;
const mega = amount => (amount * 1e-6).toFixed(2);
const mebi = bytes => (bytes / 1048576).toFixed(2);

function modulesTab(report) {
  const rows = moduleRows(report), whole = stepWork(report);
  const titles = ['ms forward', 'ms backward', 'ms update', 'ms', 'share', ...(report.measured ? ['ms measured'] : []),
    'MFLOP forward', 'MFLOP backward', 'MiB forward', 'MiB backward', 'MiB saved'];
  const body = rows.map(({ path, depth, name, totals }, at) => {
    const isParent = at + 1 < rows.length && rows[at + 1].depth > depth;
    const shown = name === undefined ? report.model : name;
    const label = isParent ? tag('button', { type: 'button', 'aria-expanded': depth < 2 }, escapeText(shown)) :
      escapeText(shown);
    const cells = [...PASSES.map(pass => showMilliseconds(totals[pass])), showMilliseconds(timeOf(totals)),
      showPercent(timeOf(totals), whole), ...(report.measured ? [showMilliseconds(totals.measured)] : []),
      mega(totals.flops[0]), mega(totals.flops[1]), mebi(totals.bytes[0]), mebi(totals.bytes[1]), mebi(totals.saved)];
    return tag('tr', { 'data-path': path, 'data-depth': depth, ...(depth > 2 ? { hidden: '' } : {}) },
      tag('th', { scope: 'row', class: 'text', style: `padding-left: ${10 + 16 * depth}px` }, label),
      ...cells.map(cell => tag('td', {}, cell)));
  });
  return section('module-tree', 'Modules', note('What a step takes in each module and all that it holds: work of one ' +
    'rank, estimated. Saved is what the forward pass keeps for the backward pass.'),
  tag('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Modules' },
    tag('table', { id: 'module-list' }, tag('thead', {}, tag('tr', {}, tag('th', { scope: 'col', class: 'text' },
      'module'), ...titles.map(title => tag('th', { scope: 'col' }, title)))), tag('tbody', {}, ...body))));
}

//---- Launches ----

// The decision about a launch, in words.
function decision(report, launch) {
  if (launch.recomputed) return 'recomputed for the backward pass, which costs less memory than to keep it';
  if (launch.reason !== undefined) return report.groups[launch.reason].text;
  return launch.family === 'collective' ? 'placed by the partition of the program over its ranks' :
    'one copy that the plan needs; nothing was weighed';
}

// A launch's source line among those around it; of a file that was not there when the report was made, none.
function sourceLines(report, { source }) {
  const [, file, line] = source.match(/^(.*?):(\d+)(?::\d+)?$/) || [];
  if (file === undefined || !report.lines) return '';
  const lines = report.lines[file] || {};
  if (lines[line] === undefined)
    return tag('p', {}, escapeText(`${source}: honec did not find this line below the folder it ran in.`));
  const shown = Object.keys(lines).map(Number).filter(at => Math.abs(at - line) <= 2).map(at =>
    tag(at === Number(line) ? 'b' : 'span', {}, escapeText(`${at} ${lines[at]}`)));
  return tag('pre', { class: 'lines', title: source }, shown.join('\n'));
}

function launchDetails(report, launch, index) {
  const links = report.ir ? tag('p', {}, tag('a', { href: `#plan-${index}` }, 'in the plan')) : '';
  return tag('details', {}, tag('summary', {}, escapeText(launch.name)),
    tag('p', {}, escapeText(`Decision: ${decision(report, launch)}.`)), tag('p', {}, escapeText(`Ops: ${launch.ops}.`)),
    sourceLines(report, launch), links);
}

// Measured time against the estimate; null where either is unknown.
function ratioOf(report, launch, index) {
  const seconds = measuredOf(report, index);
  return seconds === null || launch.seconds === 0 ? null : seconds / launch.seconds;
}

function launchColumns(report) {
  const columns = [
    { title: '#', value: (launch, index) => index, show: (launch, index) => index },
    { title: 'launch', text: true, value: launch => launch.name, markup: (launch, index) =>
      launchDetails(report, launch, index) },
    { title: 'function', text: true, value: launch => launch.function },
    { title: 'pass', text: true, value: launch => launch.pass },
    { title: 'times', value: launch => launch.times },
    { title: 'estimated ms', value: launch => launch.seconds, show: launch => showMilliseconds(launch.seconds) }];
  if (report.measured)
    columns.push({ title: 'measured ms', value: (launch, index) => measuredOf(report, index) || 0,
      show: (launch, index) => {
        const seconds = measuredOf(report, index);
        return seconds === null ? '' : showMilliseconds(seconds);
      } }, { title: 'ratio', value: (launch, index) => ratioOf(report, launch, index) || 0,
      show: (launch, index) => {
        const ratio = ratioOf(report, launch, index);
        return ratio === null ? '' : ratio.toFixed(2);
      } });
  return [...columns,
    { title: 'MFLOP', value: launch => launch.flops, show: launch => mega(launch.flops) },
    { title: 'MiB', value: launch => launch.bytes, show: launch => mebi(launch.bytes) },
    { title: 'MiB saved', value: launch => launch.saved || 0, show: launch => mebi(launch.saved || 0) },
    { title: 'MiB alive', value: total, show: launch => mebi(total(launch)) },
    { title: 'family', text: true, value: launch => launch.family },
    { title: 'source', text: true, value: launch => launch.source }];
}

// Rows in the order of `column`, those with all words of `search`.
function launchRows(report, column, isDown, search) {
  const columns = launchColumns(report), { value } = columns[column];
  const wanted = search.toLowerCase().split(/\s+/).filter(word => word);
  const rows = report.launches.map((launch, index) => ({ launch, index })).filter(({ launch }) => {
    const text = `${launch.name} ${launch.function} ${launch.pass} ${launch.family} ${launch.ops} ${launch.source}`;
    return wanted.every(word => text.toLowerCase().includes(word));
  });
  const compare = (a, b) => (typeof a === 'string' ? a.localeCompare(b) : a - b);
  rows.sort((a, b) => (isDown ? -1 : 1) * compare(value(a.launch, a.index), value(b.launch, b.index)) ||
    a.index - b.index);
  const kind = launch => `${launch.function} ${launch.pass}`;
  return rows.map(({ launch, index }, at) => tag('tr', { id: `launch-${index}`,
    ...(at && column === 0 && kind(launch) !== kind(rows[at - 1].launch) ? { class: 'first' } : {}) },
  ...columns.map(({ text, value: get, show, markup }) => tag('td', text ? { class: 'text' } : {},
    markup ? markup(launch, index) : escapeText((show || get)(launch, index)))))).join('');
}

function launchesTab(report) {
  const head = launchColumns(report).map(({ title, text }, at) =>
    tag('th', { scope: 'col', ...(text ? { class: 'text' } : {}) },
      tag('button', { type: 'button', 'data-column': at }, escapeText(title))));
  return section('launch-section', 'Launches', note(`${fact('step.launches', report.step.launches)} launches a step, `,
    stepTime(report), '. Press a name for its decision and ops, a title to sort.'),
  tag('p', {}, tag('input', { id: 'search', type: 'search', placeholder: 'search', 'aria-label': 'Search launches' })),
  tag('div', { class: 'scroll', role: 'region', tabindex: 0, 'aria-label': 'Launches' }, tag('table',
    { id: 'launch-list' }, tag('thead', {}, tag('tr', {}, ...head)),
    tag('tbody', {}, launchRows(report, 0, false, ''))))) + familiesSection(report);
}

function familiesSection({ launches }) {
  const totals = new Map();
  for (const launch of launches) {
    const row = totals.get(launch.family) || [0, 0, 0, 0];
    totals.set(launch.family, [1, launch.flops, launch.bytes, launch.seconds].map(
      (amount, at) => row[at] + amount * launch.times));
  }
  return section('families', 'One step by family', table('family-totals', 'Launches of a step by family',
    [words('family'), number('launches'), number('MFLOP'), number('MiB'), number('estimated ms')],
    [...totals].map(([family, [count, flops, bytes, seconds]]) => [family, count, mega(flops),
      mebi(bytes), showMilliseconds(seconds)])));
}

//---- Memory ----

function memorySection(report) {
  const { memory, launches } = report;
  const launch = launches[memory.fullest], place = launch && launch.source ? ` at ${launch.source}` : '';
  const fullest = launch ?
    ` It is fullest at launch ${launch.number} of ${launch.function}: ${launch.name}${place}.` : '';
  return section('memory', 'Memory of a step', note('The arena has ', arenaSize(report), escapeText(`.${fullest}`)),
    tag('figure', {}, tag('div', { class: 'chart', id: 'timeline' }), timelineLegend(report),
      tag('figcaption', {}, 'State lies at the bottom; the dashed line is the size of the arena. Rest the pointer on ' +
        'a launch to read its name; the table of launches has the same bytes.')),
    table('peak', 'At the fullest point', [words('category'), number('bytes'), number('')],
      [...memory.peak, { category: 'arena', bytes: memory.arena }].map(
        ({ category, bytes }) => [category, bytes, showBytes(bytes)])),
    table('tensors', 'Tensors alive there', [number('size'), number('count'), words('type'), words('category'),
      words('made by'), words('source')], memory.tensors.map(
      row => [showBytes(row.bytes), row.count, row.type, row.category, row.name, row.source])));
}

function reasonsSection(id, title, what, reasons) {
  return reasons.length === 0 ? '' : section(id, title,
    table(`${id}-list`, title, [words(what), words('phase'), words('source')],
      reasons.map(({ text, phase, source }) => [text, phase, source])));
}

//---- Ranks ----

function ranksTab(report) {
  const { ranks, step } = report, waiting = step.seconds - ranks.work_seconds;
  return section('ranks-section', `${ranks.count} ranks`,
    note(escapeText(`${ranks.mesh}: `), stepTime(report), ` a step, of which ${showMilliseconds(waiting)} ms waiting ` +
      'for others; MFU ', fact('step.mfu', `${(100 * step.mfu).toFixed(1)} %`), '.'),
    tag('figure', {}, tag('div', { class: 'chart', id: 'overlap' }), legend([
      { sign: areaSign(COLOURS[0]), name: 'work' }, { sign: areaSign(COLOURS[5]), name: 'collectives' },
      { sign: areaSign(COLOURS[4]), name: 'waiting' }]),
    tag('figcaption', {}, 'One run of each function of a step, estimated: collectives on their links below the work ' +
      'of the rank that they run beside.')),
    table('exposed', 'Waiting by axes', [words('axes'), number('estimated ms')],
      ranks.exposed.map(({ axes, seconds }) => [axes, showMilliseconds(seconds)])),
    table('traffic', 'What a rank sends in a step', [words('collectives'), words('axes'), number('count'),
      number('MiB sent'), number('estimated ms')], ranks.traffic.map(row =>
      [row.kind, row.axes, row.count, mebi(row.bytes), showMilliseconds(row.seconds)])));
}

// A lane for the rank, and one for each of the axes that it sends along.
function drawOverlap(report, width) {
  const lanes = ['rank', ...new Set(report.launches.filter(launch => launch.times && launch.axes !== undefined)
    .map(launch => launch.axes))];
  const ends = new Map();
  for (const launch of report.launches)
    if (launch.times) ends.set(launch.function, Math.max(ends.get(launch.function) || 0, launch.end));
  const starts = new Map();
  let whole = 0;
  for (const [name, end] of ends) {
    starts.set(name, whole);
    whole += end;
  }
  if (whole === 0) return paragraph('No launch takes time.');
  const bottom = 30 + 34 * lanes.length, x = axis(0, whole, 80, width - 12), y = axis(0, lanes.length, 30, bottom);
  const spans = report.launches.filter(launch => launch.times && launch.end > launch.begin).map(launch => {
    const lane = launch.axes === undefined ? 0 : lanes.indexOf(launch.axes), start = starts.get(launch.function);
    const kind = launch.axes !== undefined ? 'collective' : launch.waits_for !== undefined ? 'waiting' : 'work';
    const colour = { collective: COLOURS[5], waiting: COLOURS[4], work: COLOURS[0] }[kind];
    const from = x.at(start + launch.begin), to = x.at(start + launch.end);
    const title = `${launch.name}, ${showMilliseconds(launch.begin)} to ${showMilliseconds(launch.end)} ms`;
    return tag('rect', { class: `span ${kind}`, x: pixel(from), y: pixel(y.at(lane) + 4), fill: colour,
      width: pixel(Math.max(to - from, 0.3)), height: 26 }, tag('title', {}, escapeText(
      `${title} of ${launch.function}`)));
  });
  const unit = timeUnit(whole), frame = { ...y, from: bottom, to: 30 };
  return chart('Collectives beside the work of a rank', width, bottom + 44, x, frame,
    ticks(x, width / 90, { size: unit.size, name: '' }), [], [`estimated time in ${unit.name}`, ''],
    { below: spans, above: lanes.map((name, lane) => label('end', 72, y.at(lane) + 21, name)) });
}

//---- IR ----

// Source line, FILE:LINE or FILE:LINE:COL as in report.json, by the name of a location's alias.
function readLocations(text) {
  const aliases = new Map([...text.matchAll(/^(#loc\d*) = loc\((.*)\)$/gm)].map(([, name, body]) => [name, body]));
  const sources = new Map();
  const find = (name, depth) => {
    if (!sources.has(name)) {
      const body = aliases.get(name) || '', place = body.match(/"((?:[^"\\]|\\.)*)":(\d+):(\d+)/);
      const inner = depth < 50 ? [...body.matchAll(/#loc\d*/g)].map(([other]) => find(other, depth + 1)) : [];
      sources.set(name, place ? [place[1], ...place.slice(2).filter(number => number !== '0')].join(':') :
        inner.find(source => source) || '');
    }
    return sources.get(name);
  };
  for (const name of aliases.keys()) find(name, 0);
  return sources;
}

// The lines of a phase: a launch of the plan and its row link to each other, other lines to the first launch of theirs.
function showIr(report, phase) {
  const sources = readLocations(report.ir[phase]), first = new Map();
  report.launches.forEach((launch, index) => first.has(launch.source) || first.set(launch.source, index));
  let launches = 0;
  return report.ir[phase].split('\n').filter(text => !/^#loc/.test(text)).map(text => {
    const name = (text.match(/loc\((#loc\d*)\)$/) || [])[1];
    const shown = escapeText(text.replace(/ loc\(#loc\d*\)$/, ''));
    if (phase === 'plan' && /^\s*plan\.launch\b/.test(text)) {
      const index = launches++;
      return tag('span', { id: `plan-${index}` }, tag('a', { href: `#launch-${index}` }, `launch ${index}`), shown);
    }
    const index = phase === 'plan' ? undefined : first.get(sources.get(name));
    return index === undefined ? shown :
      shown + tag('a', { href: `#launch-${index}`, class: 'source' }, escapeText(sources.get(name)));
  }).join('\n');
}

function irTab(report) {
  const phases = Object.keys(report.ir);
  const buttons = phases.map(phase => tag('button', { type: 'button', 'data-phase': phase }, phase));
  const texts = { import: 'the graph as imported', step: 'the step before ranks and groups', plan: 'the plan' };
  const missing = Object.keys(texts).filter(phase => !phases.includes(phase));
  return section('ir-section', 'Intermediate representation', note(
    `The module after phases: ${phases.map(phase => texts[phase]).join(', ')}.`,
    missing.length ? ` The compilation began behind others (--from): ${missing.join(', ')}.` : ''),
  tag('p', {}, ...buttons),
  tag('pre', { id: 'ir-text', class: 'scroll', tabindex: 0 }));
}

//---- Compare ----

function compareRows(report, other) {
  const totals = [report, other].map(one => new Map(moduleRows(one).map(row => [row.path, row])));
  const none = { totals: emptyTotals() };
  const rows = [...new Set(totals.flatMap(one => [...one.keys()]))].map(path => {
    const [here, there] = totals.map(one => (one.get(path) || none).totals);
    return { path, here, there, change: timeOf(here) - timeOf(there) };
  });
  return rows.sort((a, b) => Math.abs(b.change) - Math.abs(a.change) || (a.path < b.path ? -1 : 1));
}

// Facts of a step as the other tabs write them, with what they differ by.
function compareTables(report, other) {
  const signed = text => (Number(text) > 0 ? `+${text}` : text);
  const pairs = [['ms per step', one => one.step.seconds, showMilliseconds],
    ['arena', one => one.memory.arena, showBytes], ['launches', one => one.step.launches, String],
    ['FLOPs', one => one.step.flops, showFlops], ['bytes', one => one.step.bytes, showBytes]];
  return table('compare-step', 'A step', [words(''), number('this'), number('other'), number('change')],
    pairs.map(([name, value, show]) => {
      const [here, there] = [value(report), value(other)];
      return [name, show(here), show(there), `${here < there ? '-' : here > there ? '+' : ''}${show(Math.abs(here - there))}`];
    })) + table('compare-modules', 'By module, largest change of time first', [words('module'), number('ms this'),
    number('ms other'), number('change'), number('MiB saved this'), number('MiB saved other')],
  compareRows(report, other).map(({ path, here, there, change }) => [path || '(all)', showMilliseconds(timeOf(here)),
    showMilliseconds(timeOf(there)), signed(showMilliseconds(change)), mebi(here.saved), mebi(there.saved)]));
}

function compareTab(report) {
  return section('compare-section', 'Compare', note('Another report beside this one: its report.json, or ',
    tag('code', {}, 'hone report RUN --compare=OTHER'), '. ', tag('input', { id: 'other', type: 'file',
      accept: '.json,application/json', 'aria-label': 'report.json to compare' })),
  tag('div', { id: 'comparison' }, report.other ? compareTables(report, report.other) : ''));
}

//---- Tabs ----

function memoryTab(report) {
  return memorySection(report) + (report.memory.curve.length ? curveSection(report) : '') +
    reasonsSection('stages', 'Kept and recomputed', 'stage', report.stages);
}

function decisionsTab(report) {
  return reasonsSection('sizes', 'Parameters packed and padded', 'decision', report.sizes) +
    reasonsSection('groups', 'Groups and why they were formed', 'group', report.groups) +
    reasonsSection('bounds', 'Searches that stopped at their bound', 'search', report.bounds);
}

// Tabs that have nothing to show are left out.
function renderReport(report) {
  const tabs = [['overview', 'Overview', overviewTab(report)], ['modules', 'Modules', modulesTab(report)],
    ['launches', 'Launches', launchesTab(report)], ['memory', 'Memory', memoryTab(report)],
    ['ranks', 'Ranks', report.ranks ? ranksTab(report) : ''], ['decisions', 'Decisions', decisionsTab(report)],
    ['ir', 'IR', report.ir ? irTab(report) : ''], ['compare', 'Compare', compareTab(report)]]
    .filter(([, , body]) => body);
  return tag('h1', {}, escapeText(report.model)) + tag('nav', { 'aria-label': 'Tabs' }, tag('ul', {},
    ...tabs.map(([id, title]) => tag('li', {}, tag('a', { href: `#${id}` }, title))))) +
    tabs.map(([id, , body]) => tag('div', { id, class: 'tab' }, body)).join('');
}

// Everything on the page but the charts, which depend on its width.
const render = data => (data.run ? renderRun(data.run) : renderReport(data));

// The charts by the ids of the elements that hold them.
function drawCharts(data, width) {
  if (data.run) return { losses: drawLosses(data.run, width) };
  const charts = { timeline: drawTimeline(data, width) };
  if (data.memory.curve.length) charts.curve = drawCurve(data, width);
  if (data.ranks) charts.overlap = drawOverlap(data, width);
  return charts;
}

//---- In a browser ----

const find = id => document.getElementById(id);

// Shows the tab that holds what the address names, and what it names.
function followAddress(report) {
  const name = decodeURIComponent(location.hash.slice(1)) || 'overview';
  if (report.ir && name.startsWith('plan-') && !find(name)) find('ir-text').innerHTML = showIr(report, 'plan');
  const target = find(name) || find('overview'), tab = target.closest('.tab');
  for (const one of document.querySelectorAll('.tab')) one.hidden = one !== tab;
  for (const link of document.querySelectorAll('nav a'))
    link.setAttribute('aria-current', link.getAttribute('href') === `#${tab.id}` ? 'page' : 'false');
  for (const details of target.querySelectorAll(':scope > td > details')) details.open = true;
  if (target !== tab) target.scrollIntoView({ block: 'center' });
}

// A module's children are shown or hidden with all that they hold.
function toggleModule(button) {
  const row = button.closest('tr'), depth = Number(row.dataset.depth);
  const isOpen = button.getAttribute('aria-expanded') === 'true';
  button.setAttribute('aria-expanded', String(!isOpen));
  for (let next = row.nextElementSibling; next && Number(next.dataset.depth) > depth; next = next.nextElementSibling) {
    next.hidden = isOpen || Number(next.dataset.depth) > depth + 1;
    const inner = next.querySelector('button');
    if (inner) inner.setAttribute('aria-expanded', 'false');
  }
}

function listen(report) {
  const order = { column: 0, isDown: false };
  const list = () => {
    find('launch-list').tBodies[0].innerHTML = launchRows(report, order.column, order.isDown, find('search').value);
  };
  find('search').addEventListener('input', list);
  document.addEventListener('click', ({ target }) => {
    const { column, phase } = target.dataset;
    if (column !== undefined) {
      order.isDown = order.column === Number(column) && !order.isDown;
      order.column = Number(column);
      list();
    } else if (phase !== undefined) find('ir-text').innerHTML = showIr(report, phase);
    else if (target.closest('#module-list button')) toggleModule(target);
  });
  find('other').addEventListener('change', async ({ target }) => {
    const text = await target.files[0].text();
    let shown;
    try {
      shown = compareTables(report, JSON.parse(text));
    } catch (error) {
      shown = paragraph(`${target.files[0].name}: expected a report.json of this schema: ${error.message}`);
    }
    find('comparison').innerHTML = shown;
  });
  window.addEventListener('hashchange', () => followAddress(report));
  followAddress(report);
}

// The data, which are zlib's format as base64.
async function readData(element) {
  const bytes = Uint8Array.from(atob(element.textContent), sign => sign.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate'));
  return JSON.parse(await new Response(stream).text());
}

async function start() {
  const data = await readData(find('data')), report = find('report');
  report.innerHTML = render(data);
  const draw = () => {
    const width = Math.min(1100, Math.max(320, report.clientWidth));
    for (const [id, drawn] of Object.entries(drawCharts(data, width))) find(id).innerHTML = drawn;
  };
  draw();
  window.addEventListener('resize', draw);
  if (!data.run) listen(data);
}

if (typeof document !== 'undefined') start();
