// All nodes as small cells, by switch and rack: legible with six nodes and with ten thousand.
import {h} from './dom.js';
import {drawShape, toneColor} from './words.js';

const LABEL = 18;   // height of a rack's name
const HEAD = 26;    // of a switch's
const NAME = 78;    // width of a node's name beside its cell

// Sizes in pixels for so many nodes: of a cell, between cells, between racks; how many cells a rack
// is wide at least, and whether the names of nodes and racks are shown.
const SIZES = [
  {upTo: 64, cell: 16, gap: 10, space: 26, columns: 2, names: true, racks: true},
  {upTo: 300, cell: 20, gap: 4, space: 18, columns: 4, racks: true},
  {upTo: 1000, cell: 14, gap: 3, space: 14, columns: 8, racks: true},
  {upTo: 3000, cell: 10, gap: 2, space: 14, columns: 8, racks: true},
  {upTo: Infinity, cell: 7, gap: 1, space: 7, columns: 4},
];

// Groups nodes: switch → rack → nodes, in the order in which they come.
function byPlace(nodes) {
  const switches = new Map();
  for (const node of nodes) {
    if (!switches.has(node.switch)) switches.set(node.switch, new Map());
    const racks = switches.get(node.switch);
    if (!racks.has(node.rack)) racks.set(node.rack, []);
    racks.get(node.rack).push(node);
  }
  // Nodes in no rack come last, in a line of their own.
  const rest = switches.get('');
  if (rest && switches.size > 1) { switches.delete(''); switches.set('', rest); }
  return switches;
}

// How wide a rack is, and with how many columns.
function block(rack, nodes, sizes, width) {
  const pitch = sizes.cell + sizes.gap + (sizes.names ? NAME : 0);
  const most = Math.max(1, Math.floor((width + sizes.gap) / pitch));
  const wanted = rack ? Math.max(sizes.columns, Math.ceil(Math.sqrt(nodes.length / 2))) : nodes.length;
  const columns = Math.min(most, wanted, nodes.length);
  const least = rack && sizes.racks ? 44 : 0;
  return {rack, nodes, columns, pitch, width: Math.min(width, Math.max(columns * pitch - sizes.gap, least))};
}

export class Grid {
  // `onOpen` gets the node that somebody chose.
  constructor(onOpen) {
    this.onOpen = onOpen;
    this.cells = [];
    this.fits = null;
    this.at = -1;     // the chosen cell, for the keyboard
    this.canvas = h('canvas', {tabindex: '0', role: 'application', 'aria-roledescription': 'grid of nodes',
      'aria-label': 'Nodes by rack. Arrow keys choose a node, Enter opens it.'});
    this.tip = h('div.tip', {hidden: true});
    this.says = h('div', {role: 'status', 'aria-live': 'polite', class: 'tip', hidden: true});
    this.element = h('div.grid', null, this.canvas, this.tip, this.says);
    this.canvas.addEventListener('mousemove', (event) => this.point(this.cellAt(event)));
    this.canvas.addEventListener('mouseleave', () => this.point(-1));
    this.canvas.addEventListener('click', (event) => this.open(this.cellAt(event)));
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    this.canvas.addEventListener('blur', () => { this.at = -1; this.point(-1); this.draw(); });
    this.canvas.addEventListener('theme', () => this.draw());
    this.watcher = new ResizeObserver(() => this.layout());
    this.watcher.observe(this.element);
  }

  close() { this.watcher.disconnect(); }

  show(nodes, fits) {
    this.nodes = nodes;
    this.fits = fits;
    this.layout();
  }

  // Where everything is, for the present width.
  layout() {
    const width = this.element.clientWidth;
    if (!this.nodes || !width) return;
    const sizes = SIZES.find(({upTo}) => this.nodes.length <= upTo);
    const chosen = this.cells[this.at]?.node.name;
    this.cells = [];
    this.labels = [];
    // Switches flow like words; the racks of one flow below its name.
    const at = {x: 0, y: 0, tallest: 0};
    for (const [name, racks] of byPlace(this.nodes)) {
      const blocks = [...racks].map(([rack, nodes]) => block(rack, nodes, sizes, width));
      const wide = Math.min(width, blocks.reduce((sum, each) => sum + each.width + sizes.space, -sizes.space));
      if (at.x > 0 && (at.x + wide > width || !name)) Object.assign(at, {x: 0, y: at.y + at.tallest, tallest: 0});
      if (name) this.labels.push({text: name, x: at.x, y: at.y + 15, width: wide, isHead: true});
      const tall = this.place(blocks, at.x, at.y + (name ? HEAD : 0), wide, sizes);
      at.tallest = Math.max(at.tallest, tall - at.y + 16);
      at.x += wide + 24;
    }
    this.height = Math.max(at.y + at.tallest - 12, 2);
    this.width = width;
    this.at = chosen ? this.cells.findIndex((cell) => cell.node.name === chosen) : -1;
    this.draw();
  }

  // Puts the racks of a switch into a box; returns its lower end.
  place(blocks, left, top, width, sizes) {
    let x = left, y = top, tallest = 0;
    for (const {rack, nodes, columns, width: wide, pitch} of blocks) {
      if (x > left && x + wide > left + width) { x = left; y += tallest + sizes.space; tallest = 0; }
      const label = rack && sizes.racks ? LABEL : 0;
      if (label) this.labels.push({text: rack, x, y: y + 11, width: wide});
      nodes.forEach((node, i) => this.cells.push({node, size: sizes.cell, name: sizes.names ? NAME : 0,
        x: x + (i % columns) * pitch, y: y + label + Math.floor(i / columns) * (sizes.cell + sizes.gap)}));
      const rows = Math.ceil(nodes.length / columns);
      tallest = Math.max(tallest, label + rows * (sizes.cell + sizes.gap) - sizes.gap);
      x += wide + sizes.space;
    }
    return y + tallest;
  }

  draw() {
    if (!this.width) return;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * scale);
    this.canvas.height = Math.round(this.height * scale);
    this.canvas.style.height = `${this.height}px`;
    const context = this.canvas.getContext('2d');
    context.scale(scale, scale);
    context.textBaseline = 'alphabetic';
    const text = toneColor('text'), quiet = toneColor('quiet');
    for (const label of this.labels) {
      context.font = label.isHead ? '600 13px system-ui, sans-serif' : '12px system-ui, sans-serif';
      context.fillStyle = label.isHead ? text : quiet;
      context.fillText(shorten(context, label.text, label.width), label.x, label.y);
    }
    const colors = new Map();
    context.font = '13px system-ui, sans-serif';
    for (const {node, x, y, size, name} of this.cells) {
      const {tone, shape} = node.status;
      if (!colors.has(tone)) colors.set(tone, toneColor(tone));
      context.globalAlpha = !this.fits || this.fits(node) ? 1 : .13;
      drawShape(context, shape, x, y, size, colors.get(tone));
      if (!name) continue;
      context.fillStyle = text;
      context.fillText(shorten(context, node.name, name - 6), x + size + 6, y + size - 3);
    }
    context.globalAlpha = 1;
    const cell = this.cells[this.at];
    if (cell) {
      context.strokeStyle = toneColor('focus');
      context.lineWidth = 2;
      context.strokeRect(cell.x - 2, cell.y - 2, cell.size + cell.name + 4, cell.size + 4);
    }
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;
    return this.cells.findIndex((cell) => x >= cell.x - 1 && x < cell.x + cell.size + cell.name + 1 &&
      y >= cell.y - 1 && y < cell.y + cell.size + 1);
  }

  // Says what a cell is.
  point(index) {
    const cell = this.cells[index];
    this.canvas.classList.toggle('over', Boolean(cell));
    this.tip.hidden = !cell;
    if (!cell) return;
    const {name, rack, service, status} = cell.node;
    this.tip.textContent = `${name}${rack ? ` in ${rack}` : ''}: ${service && service !== 'in service' ? service : status.label}`;
    const room = this.width - this.tip.offsetWidth;
    this.tip.style.left = `${Math.max(0, Math.min(cell.x, room))}px`;
    this.tip.style.top = `${cell.y + cell.size + 6}px`;
  }

  open(index) {
    if (this.cells[index]) this.onOpen(this.cells[index].node);
  }

  key(event) {
    const last = this.cells.length - 1;
    const steps = {ArrowRight: () => this.at + 1, ArrowLeft: () => this.at - 1, Home: () => 0, End: () => last,
      ArrowDown: () => this.beside(1), ArrowUp: () => this.beside(-1)};
    if (event.key === 'Enter') return this.open(this.at);
    if (!steps[event.key] || last < 0) return;
    event.preventDefault();
    this.at = this.at < 0 ? 0 : Math.max(0, Math.min(last, steps[event.key]()));
    this.draw();
    this.point(this.at);
    this.tip.scrollIntoView({block: 'nearest'});   // and its cell, which is within the tip's margin
    this.says.textContent = this.tip.textContent;
    this.says.className = 'heard';
    this.says.hidden = false;
  }

  // The nearest cell below (1) or above (-1).
  beside(way) {
    const from = this.cells[this.at];
    let best = this.at, least = Infinity;
    this.cells.forEach((cell, i) => {
      const down = (cell.y - from.y) * way;
      if (down <= 0) return;
      const far = down * 4 + Math.abs(cell.x - from.x);
      if (far < least) { least = far; best = i; }
    });
    return best;
  }
}

function shorten(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let end = text.length;
  while (end > 1 && context.measureText(`${text.slice(0, end)}…`).width > width) --end;
  return `${text.slice(0, end)}…`;
}
