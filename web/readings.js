// What a node measures now: asked for again and again while somebody looks at its page.
import {ApiError, get} from './api.js';
import {card, h, put, table} from './dom.js';
import {badge} from './words.js';

const WIDTH = 120, HEIGHT = 24;
const SVG = 'http://www.w3.org/2000/svg';

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// A line through the last readings, from 0 to `most`; those that are not known leave a gap.
function sparkline(values, most, label) {
  const step = WIDTH / Math.max(values.length - 1, 1);
  const y = (value) => (HEIGHT - 1 - (HEIGHT - 2) * Math.min(1, value / most)).toFixed(1);
  let path = '', isDrawn = false;
  values.forEach((value, i) => {
    if (value === null) { isDrawn = false; return; }
    path += `${isDrawn ? 'L' : 'M'}${(i * step).toFixed(1)} ${y(value)}`;
    isDrawn = true;
  });
  return svg('svg', {class: 'spark', viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: 'img', 'aria-label': label}, svg('path', {d: path}));
}

const known = (value) => (value === undefined ? null : value);
const percent = (ratio) => (ratio === null ? '–' : `${Math.round(100 * ratio)} %`);
const unit = (value, name) => (value === null ? '–' : `${Math.round(value)} ${name}`);
const gib = (bytes) => (Number(bytes) / 2 ** 30).toFixed(1);
export function rate(bytes) {
  const units = ['B/s', 'kB/s', 'MB/s', 'GB/s', 'TB/s'];
  let i = 0;
  while (bytes >= 999.5 && i + 1 < units.length) { bytes /= 1000; ++i; }
  // Three digits: a link of 100 Gbit/s carries 12.5 GB/s.
  const decimals = i === 0 || bytes >= 99.95 ? 0 : bytes >= 9.995 ? 1 : 2;
  return `${bytes.toFixed(decimals)} ${units[i]}`;
}

// A figure beside its line. `of(readings)`: a number, or null.
function figure(history, of, most, text, label) {
  const values = history.map(({readings}) => of(readings));
  const newest = values.at(-1) ?? null;
  if (values.every((value) => value === null)) return '–';
  const top = most ?? Math.max(1, ...values.filter((value) => value !== null));
  return h('span.figure', null, sparkline(values, top, `${label}, the last readings`), h('span', null, text(newest)));
}

function gpuRow(history, newest) {
  const of = (readings) => readings.gpus.find((each) => each.index === newest.index);
  const field = (name) => (readings) => known(of(readings)?.[name]);
  const name = `GPU ${newest.index}`;
  if (newest.is_lost) return [String(newest.index), badge('lost', 'bad'), '', '', '', ''];
  const limit = known(newest.power_limit_watts);
  return [String(newest.index),
    figure(history, field('busy_ratio'), 1, percent, `${name}: busy`),
    figure(history, field('temperature_celsius'), 100, (value) => unit(value, '°C'), `${name}: temperature`),
    figure(history, field('power_watts'), limit, (value) => `${unit(value, 'W')}${limit ? ` of ${Math.round(limit)}` : ''}`, `${name}: power`),
    newest.memory_total_bytes ? `${gib(newest.memory_used_bytes ?? 0)} of ${gib(newest.memory_total_bytes)} GiB` : '–',
    unit(known(newest.sm_clock_mhz), 'MHz')];
}

// The card of readings and its parts that stay while the rest changes.
function makeCard() {
  const old = h('p.note.warn', {role: 'status'});
  const trouble = h('p', {role: 'alert'});
  const body = h('div');
  return {old, trouble, body, section: card('Now', old, trouble, body)};
}

function say(element, text) { if (element.textContent !== text) element.textContent = text; }

function show(parts, history) {
  const newest = history.at(-1).readings;
  const memory = (readings) => (readings.memory_total_bytes > 0 ? readings.memory_used_bytes / readings.memory_total_bytes : null);
  const whole = [['Processors', figure(history, (readings) => known(readings.cpu_busy_ratio), 1, percent, 'Processors')],
    ['Memory', figure(history, memory, 1, percent, 'Memory')]];
  if (known(newest.power_watts) !== null)
    whole.push(['Machine draws', figure(history, (readings) => known(readings.power_watts), null, (value) => unit(value, 'W'), 'Power of the machine')]);
  const links = newest.links.map((link) => {
    const field = (name) => (readings) => known(readings.links.find((each) => each.name === link.name)?.[name]);
    return [link.name, figure(history, field('received_bytes_per_s'), link.bytes_per_s || null, rate, `${link.name}: in`),
      figure(history, field('sent_bytes_per_s'), link.bytes_per_s || null, rate, `${link.name}: out`),
      link.bytes_per_s ? rate(link.bytes_per_s) : '–'];
  });
  say(parts.old, '');
  say(parts.trouble, newest.gpu_trouble ? `GPUs: ${newest.gpu_trouble}` : '');
  put(parts.body,
    h('dl.now', null, whole.map(([name, value]) => [h('dt', null, name), h('dd', null, value)])),
    newest.gpus.length ? table([{title: '#', number: true}, {title: 'Busy'}, {title: 'Temperature'}, {title: 'Power'}, {title: 'Memory', number: true}, {title: 'Clock', number: true}],
      newest.gpus.map((gpu) => gpuRow(history, gpu)), 'GPUs now') : null,
    links.length ? table([{title: 'Link'}, {title: 'In'}, {title: 'Out'}, {title: 'Carries', number: true}], links, 'Links now') : null);
}

// Measures from now on until close(); nothing is measured while the page is hidden.
export function readingsOf(name) {
  const element = h('div');
  const parts = makeCard();
  let timer = null, isClosed = false;
  async function step() {
    let pause = 2000;
    try {
      if (document.hidden) return;
      const {nodes: [node], interval} = await get('readings', {name});
      pause = Math.max(1000, 1000 * Number(interval) || 0);
      if (isClosed) return;
      if (node?.history.length) {
        show(parts, node.history);
        put(element, parts.section);
      } else {
        put(element);
      }
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      pause = 5000;
      say(parts.old, `These readings are old: ${error.message}.`);
    } finally {
      if (!isClosed) timer = setTimeout(step, pause);
    }
  }
  step();
  return {element, close() { isClosed = true; clearTimeout(timer); }};
}
