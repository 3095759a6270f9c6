// The states of things: their words, their tones, and the shapes that tell them apart without color.
import {h} from './dom.js';

// In the order in which they matter. `tone` is a color, `shape` is drawn by drawShape().
export const STATUSES = [
  {key: 'quarantined', label: 'Quarantined', tone: 'bad', shape: 'cross', isWrong: true},
  {key: 'unreachable', label: 'Unreachable', tone: 'bad', shape: 'ring', isWrong: true},
  {key: 'locked', label: 'Locked', tone: 'bad', shape: 'bars', isWrong: true},
  {key: 'down', label: 'Down in Slurm', tone: 'bad', shape: 'minus', isWrong: true},
  {key: 'drained', label: 'Drained', tone: 'warn', shape: 'half', isWrong: true},
  {key: 'busy', label: 'Being tested or updated', tone: 'busy', shape: 'dot'},
  {key: 'waiting', label: 'Waits for approval', tone: 'warn', shape: 'ring'},
  {key: 'enrolled', label: 'Joined, not configured', tone: 'plain', shape: 'half'},
  {key: 'configured', label: 'Configured', tone: 'plain', shape: 'full'},
  {key: 'in_service', label: 'In service', tone: 'good', shape: 'full'},
  {key: 'known', label: 'Not joined', tone: 'none', shape: 'ring'},
];
export const STATUS = Object.fromEntries(STATUSES.map((status) => [status.key, status]));

const IS = {known: 'known', pending: 'waiting', locked: 'locked'};

// Whether Slurm keeps a node from jobs that Muster does not keep from them. Slurm may have to be told
// yet that a node is in service, and an empty text says nothing.
function isDown({state, service}) {
  if (service.startsWith('taken down')) return true;
  return state === 'in_service' && service !== '' && !/^in service(;|$)/.test(service);
}

// The one word for a node: {state, service, connected, held}.
export function statusOf(node) {
  if (IS[node.state]) return STATUS[IS[node.state]];
  if (!node.connected) return STATUS.unreachable;
  if (node.state === 'quarantined') return STATUS.quarantined;
  if (node.service.startsWith('being ')) return STATUS.busy;
  if (/^(drained|quarantined|rebooted)/.test(node.service) || node.held) return STATUS.drained;
  if (isDown(node)) return STATUS.down;
  return STATUS[node.state] ?? STATUS.enrolled;
}

// Draws a cell of the grid; `size` counts pixels.
export function drawShape(context, shape, x, y, size, color) {
  const line = Math.max(1, Math.round(size / 7));
  context.fillStyle = color;
  context.strokeStyle = color;
  context.lineWidth = line;
  const frame = () => context.strokeRect(x + line / 2, y + line / 2, size - line, size - line);
  switch (shape) {
    case 'full': context.fillRect(x, y, size, size); break;
    case 'ring': frame(); break;
    case 'half':
      frame();
      context.fillRect(x, y + size / 2, size, size / 2);
      break;
    case 'dot':
      frame();
      context.fillRect(x + size / 3, y + size / 3, size - 2 * size / 3, size - 2 * size / 3);
      break;
    case 'bars':
      frame();
      context.fillRect(x + size * .42, y, Math.max(1, size * .16), size);
      break;
    case 'minus':
      frame();
      context.fillRect(x, y + size * .42, size, Math.max(1, size * .16));
      break;
    case 'cross':
      frame();
      context.beginPath();
      context.moveTo(x + line, y + line); context.lineTo(x + size - line, y + size - line);
      context.moveTo(x + size - line, y + line); context.lineTo(x + line, y + size - line);
      context.stroke();
      break;
  }
}

export function toneColor(tone) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${tone}`).trim();
}

export function swatch(status) {
  const canvas = h('canvas.swatch', {width: 28, height: 28, 'aria-hidden': 'true'});
  const draw = () => {
    const context = canvas.getContext('2d');
    context.clearRect(0, 0, 28, 28);
    drawShape(context, status.shape, 1, 1, 26, toneColor(status.tone));
  };
  canvas.addEventListener('theme', draw);
  draw();
  return canvas;
}

export function badge(label, tone) { return h(`span.badge.${tone}`, null, label); }
export function statusBadge(status) { return badge(status.label, status.tone === 'none' ? 'plain' : status.tone); }

const TONES = {
  succeeded: 'good', done: 'good', completed: 'good', pass: 'good', ok: 'good', resuming: 'good',
  running: 'busy', rolling: 'busy', soaking: 'busy', applying: 'busy', validating: 'busy', rebooting: 'busy',
  draining: 'warn', requeuing: 'warn', changed: 'good', paused: 'warn', aborting: 'warn', rolling_back: 'warn',
  cancelled: 'warn', unknown: 'warn', aborted: 'warn', rolled_back: 'warn',
  failed: 'bad', fail: 'bad', unreachable: 'bad', quarantined: 'bad',
};
export function toneOf(word) { return TONES[word] ?? 'plain'; }
// "rolling_back" as "rolling back".
export function wordBadge(word) { return word ? badge(word.replaceAll('_', ' '), toneOf(word)) : null; }

// A bar of counts: [[word, count], …], in the order given.
export function bar(counts, label) {
  const parts = counts.filter(([, count]) => count > 0);
  const words = parts.map(([word, count]) => `${count} ${word.replaceAll('_', ' ')}`).join(', ');
  return h('div', null,
    h('div.bar', {role: 'img', 'aria-label': `${label}: ${words || 'none'}`}, parts.map(([word, count]) => {
      const part = h(`span.${toneOf(word)}`);
      part.style.flexGrow = count;
      return part;
    })),
    h('p.quiet', null, words));
}
