// What was measured between nodes: a cell for each pair, from row to column.
import {h} from './dom.js';

const LEAST = 3, MOST = 22;   // pixels of a cell
const LISTED = 10;

// From dark (low) to light (high) through five colors of even steps in lightness.
const STOPS = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
function color(fraction) {
  const at = Math.min(1, Math.max(0, fraction)) * (STOPS.length - 1);
  const low = Math.min(Math.floor(at), STOPS.length - 2);
  const mix = STOPS[low].map((value, i) => Math.round(value + (STOPS[low + 1][i] - value) * (at - low)));
  return `rgb(${mix.join(',')})`;
}

function number(value) { return Number(value.toPrecision(4)).toLocaleString('en'); }

export function heatMap({title, unit, names, cells}) {
  const values = new Map(cells.map(([row, column, value]) => [row * names.length + column, value]));
  const high = Math.max(...values.values()), low = Math.min(...values.values());
  // Dark means at most half of the best: pairs that hardly differ must not look as if they did.
  const darkest = Math.min(low, high / 2);
  const words = (row, column) => {
    const value = values.get(row * names.length + column);
    return `${names[row]} → ${names[column]}: ${value === undefined ? 'not measured' : `${number(value)} ${unit}`}`;
  };
  const slowest = [...cells].sort((a, b) => a[2] - b[2]).slice(0, LISTED);
  const canvas = h('canvas', {role: 'img', 'aria-label': `${title}: ${cells.length} pairs, from ${number(low)} to ${number(high)} ${unit}`});
  const tip = h('div.tip', {hidden: true});
  const box = h('div.grid', null, canvas, tip);
  let size = MOST;
  function draw() {
    const width = box.clientWidth;
    if (!width) return;
    size = Math.max(LEAST, Math.min(MOST, Math.floor(width / names.length)));
    const side = size * names.length, scale = window.devicePixelRatio || 1;
    canvas.width = canvas.height = Math.round(side * scale);
    canvas.style.width = canvas.style.height = `${side}px`;
    const paint = canvas.getContext('2d');
    paint.scale(scale, scale);
    const none = getComputedStyle(canvas).getPropertyValue('--none');
    const gap = size > 6 ? 1 : 0;
    for (let row = 0; row < names.length; ++row) {
      for (let column = 0; column < names.length; ++column) {
        const value = values.get(row * names.length + column);
        if (row === column && value === undefined) continue;
        paint.fillStyle = value === undefined ? none : color(high > darkest ? (value - darkest) / (high - darkest) : 1);
        paint.fillRect(column * size, row * size, size - gap, size - gap);
      }
    }
  }
  canvas.addEventListener('mousemove', (event) => {
    const row = Math.floor(event.offsetY / size), column = Math.floor(event.offsetX / size);
    tip.hidden = row >= names.length || column >= names.length;
    if (tip.hidden) return;
    tip.textContent = words(row, column);
    tip.style.left = `${Math.min(event.offsetX + 14, Math.max(0, box.clientWidth - 180))}px`;
    tip.style.top = `${event.offsetY + 14}px`;
  });
  canvas.addEventListener('mouseleave', () => { tip.hidden = true; });
  canvas.addEventListener('theme', draw);
  const watcher = new ResizeObserver(draw);
  watcher.observe(box);
  return {
    element: h('div', null, h('h3', null, unit ? `${title}, ${unit}` : title), box,
      h('details', null, h('summary', null, `The lowest: ${words(slowest[0][0], slowest[0][1])}`),
        h('ol.quiet', null, slowest.map(([row, column]) => h('li', null, words(row, column)))))),
    close: () => watcher.disconnect(),
  };
}
