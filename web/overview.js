// The cluster at a glance.
import {get} from './api.js';
import {card, empty, h, link, linked, nodesHref, nodesLink, put, when} from './dom.js';
import {Grid} from './grid.js';
import {fold, matcher} from './hostlist.js';
import {STATUSES, badge, statusBadge, statusOf, swatch} from './words.js';

// The bits of a node's flags (controller/web/overview.h).
const CONNECTED = 1, HELD = 2, FACTS_REFUSED = 4, LAST_RUN_FAILED = 8;
const MAX_GROUPS = 30, MAX_NAMES = 8;

// The nodes of /api/overview, each an object.
export function unpack(overview) {
  const word = (list, place) => (place < 0 ? '' : list[place]);
  return overview.nodes.map(([name, rack, state, service, role, flags]) => {
    const [rackName, switchName] = word(overview.racks, rack) || ['', ''];
    const node = {name, rack: rackName, switch: switchName, role: word(overview.roles, role),
      state: word(overview.states, state), service: word(overview.services, service),
      connected: Boolean(flags & CONNECTED), held: Boolean(flags & HELD),
      isRefused: Boolean(flags & FACTS_REFUSED), hasFailed: Boolean(flags & LAST_RUN_FAILED)};
    node.status = statusOf(node);
    return node;
  });
}

// Nodes with something wrong, folded by what it is: [{status, text, names}].
function troubles(nodes) {
  const groups = new Map();
  const add = (status, text, node) => {
    const key = `${status.key}\n${text}`;
    if (!groups.has(key)) groups.set(key, {status, text, names: []});
    groups.get(key).names.push(node.name);
  };
  for (const node of nodes) {
    if (node.status.isWrong) add(node.status, node.status.key === 'unreachable' ? '' : node.service, node);
    if (node.isRefused) add({label: 'Facts refused', tone: 'warn', key: 'refused'}, 'its newest report breaks a rule', node);
    if (node.hasFailed && !node.status.isWrong) add({label: 'Last run failed', tone: 'bad', key: 'run'}, '', node);
  }
  const order = (group) => (STATUSES.findIndex(({key}) => key === group.status.key) + STATUSES.length + 1) % (STATUSES.length + 1);
  return [...groups.values()].sort((a, b) => order(a) - order(b) || b.names.length - a.names.length);
}

const WORK = [
  {list: 'rollouts', path: 'rollout', kind: 'Update'},
  {list: 'runs', path: 'run', kind: 'Run'},
  {list: 'validations', path: 'validation', kind: 'Validation'},
];

function workItem(work, path, kind, tone) {
  return h('li', null,
    h('div.row', null, badge(kind, tone), link(`#/${path}/${work.id}`, work.what || work.id),
      h('span.quiet.end', null, when(work.finished_at ?? work.created_at))),
    h('div.quiet.wrap', null, `${work.nodes || 'no nodes'}, by ${work.created_by}${work.check_only ? ', check only' : ''}`));
}

function nowCard(status) {
  const items = WORK.flatMap(({list, path, kind}) => status[list].map((work) => workItem(work, path, kind, 'busy')));
  return card('Now', items.length ? h('ul.list', null, items) : h('p.quiet', null, 'Nothing is running.'));
}

function failedCard(status) {
  if (!status.failed_runs.length) return null;
  return card('Failed within a day',
    h('ul.list', null, status.failed_runs.map((work) => workItem(work, 'run', 'Run', 'bad'))));
}

// Conditions of nodes, which need not keep them out of Slurm; breakers that are open; reboots that
// somebody has to start.
function healthItems(status) {
  const item = (tone, label, nodes, ...texts) => h('li', null, h('div.row', null, badge(label, tone), nodes),
    texts.filter(Boolean).map((text) => h('div.quiet.wrap', null, linked(text))));
  const named = (names) => nodesLink(fold(names), fold(names.slice(0, MAX_NAMES)) + (names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : ''));
  return [
    ...status.health_breakers.map(({group, waiting}) => item('bad', 'Breaker open', waiting.length ? named(waiting) : null,
      `Too many nodes of ${group} are bad; no more are drained.`)),
    ...status.health.map((problem) => item(problem.severity === 'fatal' ? 'bad' : 'warn', problem.condition,
      nodesLink(problem.nodes), problem.evidence, [problem.response.replaceAll('_', ' '), problem.next].filter(Boolean).join(': '))),
    ...(status.nodes_to_reboot.length ? [item('warn', 'Reboot needed', named(status.nodes_to_reboot))] : []),
  ];
}

function troubleCard(nodes, status) {
  const groups = troubles(nodes);
  const items = groups.slice(0, MAX_GROUPS).map(({status: what, text, names}) => {
    const more = names.length - MAX_NAMES;
    const isAll = names.length === nodes.filter((node) => node.status === what).length;
    const href = isAll && names.length > 1 ? `#/?q=${encodeURIComponent(`is:${what.key}`)}` : nodesHref(fold(names));
    return h('li', null, h('div.row', null, statusBadge(what), h('a.wrap.mono', {href}, fold(names.slice(0, MAX_NAMES))),
      more > 0 ? link(href, `and ${more} more`) : null),
      text ? h('div.quiet.wrap', null, linked(text)) : null);
  });
  if (groups.length > MAX_GROUPS) items.push(h('li.quiet', null, `and ${groups.length - MAX_GROUPS} more kinds`));
  items.push(...healthItems(status));
  if (status.slurm_gate_trouble) {
    items.unshift(h('li', null, h('div.row', null, badge('Slurm', 'bad'),
      h('span.wrap', null, status.slurm_gate_trouble))));
  }
  return card('Needs attention', items.length ? h('ul.list', null, items)
    : h('p.quiet', null, 'Nothing: every node that has joined is connected and well.'));
}

export function overviewView(query, app) {
  const grid = new Grid((node) => { location.hash = `#/node/${encodeURIComponent(node.name)}`; });
  const head = h('div.head');
  const legend = h('ul.legend', {'aria-label': 'States; press one to show its nodes alone'});
  const attention = h('div');
  const work = h('div');
  const fleet = card('', legend, grid.element);
  const element = h('div', null, head, h('div.columns', null, h('div', null, fleet), h('div', null, attention, work)));
  let nodes = [], status = null, filter = query;

  function showGrid() {
    const fits = matcher(filter);
    const shown = fits ? nodes.filter(fits) : nodes;
    const connected = nodes.filter((node) => node.connected).length;
    put(head, h('h1', null, status ? status.cluster : 'Cluster'),
      h('span.quiet', null, `${connected} of ${nodes.length} nodes connected`),
      fits ? h('span', null, `${shown.length} shown for `, h('code', null, filter), ' ',
        h('button.bare', {type: 'button', onclick: () => app.search('')}, 'show all')) : null);
    put(legend, STATUSES.map((each) => [each, nodes.filter((node) => node.status === each).length])
      .filter(([, count]) => count > 0)
      .map(([each, count]) => h('li', null, h('button', {type: 'button', 'data-key': each.key,
        'aria-pressed': String(filter === `is:${each.key}`),
        onclick: () => app.search(filter === `is:${each.key}` ? '' : `is:${each.key}`)},
        swatch(each), each.label, ' ', h('b', null, String(count))))));
    if (!nodes.length) return put(fleet, empty('No nodes yet. `muster inventory apply` says which machines there are.'));
    if (!fleet.contains(grid.element)) put(fleet, legend, grid.element);
    grid.show(nodes, fits);
  }
  function showRest() {
    if (status) {
      put(attention, troubleCard(nodes, status));
      put(work, nowCard(status), failedCard(status));
    }
  }
  async function refresh() {
    const [overview, current] = await Promise.all([get('overview'), get('status')]);
    nodes = unpack(overview);
    status = current;
    showGrid();
    showRest();
  }
  return {
    title: query ? `Nodes: ${query}` : 'Overview', section: 'overview', element, refresh,
    on: ['overview', 'status'],
    // The search box changes while the page stays.
    find(text) { filter = text; showGrid(); },
    only(text) { const fits = matcher(text); const found = fits ? nodes.filter(fits) : []; return found.length === 1 ? found[0].name : null; },
    close: () => grid.close(),
  };
}
