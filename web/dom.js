// Elements from texts. Texts of nodes are hostile: they become text and attributes, never markup.

// h('a.quiet', {href: '#/'}, 'text', child): a null child is left out.
export function h(selector, attributes, ...children) {
  const [tag, ...classes] = selector.split('.');
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(' ');
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return element;
}

// Replaces what is in `element`; whoever is there with the keyboard stays at the same link or button.
export function put(element, ...children) {
  const focused = element.contains(document.activeElement) ? markOf(document.activeElement) : null;
  element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  if (focused) [...element.querySelectorAll('a, button')].find((each) => markOf(each) === focused)?.focus({preventScroll: true});
}
function markOf(element) { return element.dataset.key ?? element.getAttribute('href') ?? element.textContent; }

export function card(title, ...children) {
  return h('section.card', null, title ? h('h2', null, title) : null, ...children);
}

// `columns`: {title, number}; `rows`: arrays of texts and elements.
export function table(columns, rows, label) {
  const cellOf = (kind) => (content, i) =>
    h(columns[i].number ? `${kind}.number` : kind, kind === 'th' ? {scope: 'col'} : null, content);
  return h('div.scroll', null, h('table', {'aria-label': label},
    h('thead', null, h('tr', null, columns.map((column, i) => cellOf('th')(column.title, i)))),
    h('tbody', null, rows.map((row) => h('tr', null, row.map(cellOf('td')))))));
}

// Pairs of a name and a value; those without a value are left out.
export function facts(pairs) {
  return h('dl', null, pairs.filter(([, value]) => value !== null && value !== undefined && value !== '' && value.length !== 0)
    .map(([name, value]) => [h('dt', null, name), h('dd', null, value)]));
}

export function link(href, text) { return h('a', {href}, text); }
export function nodeLink(name) { return link(`#/node/${encodeURIComponent(name)}`, name); }
export function empty(text) { return h('p.empty', null, text); }

// A moment as people say it, with the exact one to look up; keepTimes() keeps it true.
export function when(iso) {
  if (!iso) return null;
  const element = h('time', {datetime: iso, title: new Date(iso).toLocaleString()});
  element.textContent = ago(iso);
  return element;
}
export function keepTimes(root) {
  for (const element of root.querySelectorAll('time')) element.textContent = ago(element.dateTime);
}
function ago(iso) {
  const seconds = (Date.now() - new Date(iso)) / 1000;
  const length = span(Math.abs(seconds));
  return Math.abs(seconds) < 2 ? 'now' : seconds < 0 ? `in ${length}` : `${length} ago`;
}
export function span(seconds) {
  const units = [[86400, 'd'], [3600, 'h'], [60, 'min'], [1, 's']];
  const [size, unit] = units.find(([size]) => seconds >= 2 * size) ?? [1, 's'];
  return `${Math.floor(seconds / size)} ${unit}`;
}
// A text in which the ids of runs, updates and validations lead to them.
const PAGES = {r: 'run', u: 'rollout', v: 'validation'};
export function linked(text) {
  return text.split(/\b([ruv]-[0-9a-z]{8})\b/).map((part, i) => (i % 2 ? link(`#/${PAGES[part[0]]}/${part}`, part) : part));
}
// How long something took, or has taken until now.
export function lasted(from, to) {
  return span(Math.max(0, (new Date(to ?? Date.now()) - new Date(from)) / 1000));
}
