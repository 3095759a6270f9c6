// Elements from texts. Texts of nodes are hostile: they become text and attributes, never markup.
import {exactly} from './hostlist.js';

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

// Shows `children` in `element`. Those that are there already, or look the same, stay. What is built
// anew is scrolled as far as before, and the keyboard stays at the same link or button.
export function put(element, ...children) {
  const wanted = children.flat(Infinity).filter((child) => child !== null && child !== undefined)
    .map((child) => (child instanceof Node ? child : document.createTextNode(child)));
  const before = [...element.childNodes];
  const after = wanted.map((child) => {
    const place = before.includes(child) ? before.indexOf(child) : before.findIndex((each) => !wanted.includes(each) && each.isEqualNode(child));
    return place < 0 ? child : before.splice(place, 1)[0];
  });
  if (!before.length && after.length === element.childNodes.length && after.every((child, i) => child === element.childNodes[i])) return;
  const held = marked(element);
  const focused = [...held].find(([, each]) => each === document.activeElement)?.[0];
  const scrolled = [...held].filter(([, each]) => each.scrollLeft || each.scrollTop)
    .map(([mark, {scrollLeft, scrollTop}]) => ({mark, scrollLeft, scrollTop}));
  for (const child of before) child.remove();
  // A child that moved would lose both, and be told again to screen readers.
  let at = element.firstChild;
  for (const child of after) {
    if (child === at) at = at.nextSibling;
    else element.insertBefore(child, at);
  }
  if (!focused && !scrolled.length) return;
  const now = marked(element);
  for (const {mark, scrollLeft, scrollTop} of scrolled) now.get(mark)?.scrollTo(scrollLeft, scrollTop);
  if (!focused || element.contains(document.activeElement)) return;
  const same = now.get(focused) ?? [...now.values()].find((each) => nameOf(each) === focused.split('\n')[0]);
  same?.focus({preventScroll: true});
}

// What can have the focus or be scrolled, by what it is, the times in its row, and how many of the
// same come before.
function marked(element) {
  const found = new Map(), counts = new Map();
  for (const each of element.querySelectorAll('a, button, pre, .scroll')) {
    const times = [...each.closest('tr, li')?.querySelectorAll('time') ?? []].map((time) => time.dateTime);
    const mark = [nameOf(each), ...times].join('\n');
    counts.set(mark, (counts.get(mark) ?? 0) + 1);
    found.set(`${mark}\n${counts.get(mark)}`, each);
  }
  return found;
}
function nameOf(element) {
  const name = element.dataset.key ?? element.getAttribute('href') ?? element.querySelector('table')?.getAttribute('aria-label') ?? element.textContent;
  return name.split('\n')[0];
}

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
// "c001" leads to the node, "c[001-004]" to the nodes.
export function nodesHref(hostlist) {
  return /[[,]/.test(hostlist) ? `#/?q=${encodeURIComponent(exactly(hostlist))}` : `#/node/${encodeURIComponent(hostlist)}`;
}
export function nodeLink(name) { return link(nodesHref(name), name); }
export function nodesLink(hostlist, text = hostlist) { return h('a.wrap', {href: nodesHref(hostlist)}, text); }
export function empty(text) { return h('p.empty', null, text); }

// A moment to the second, with its zone.
function exactText(iso) { return new Date(iso).toLocaleString(undefined, {dateStyle: 'medium', timeStyle: 'long'}); }
export function exact(iso) { return iso ? h('time.exact', {datetime: iso}, exactText(iso)) : null; }
// A moment as people say it, with the exact one to look up; keepTimes() keeps it true.
export function when(iso) {
  if (!iso) return null;
  const element = h('time', {datetime: iso, title: exactText(iso)});
  element.textContent = ago(iso);
  return element;
}
export function keepTimes(root) {
  for (const element of root.querySelectorAll('time:not(.exact)')) element.textContent = ago(element.dateTime);
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
