// What has happened: of the cluster, or of one node.
import {get} from './api.js';
import {card, empty, h, linked, nodesLink, put, table, when} from './dom.js';
import {badge} from './words.js';

const TONES = {
  'condition.bad': 'bad', 'node.lost': 'bad', 'health.breaker_open': 'bad', 'node.clone': 'bad', 'node.key_copied': 'bad',
  'health.quarantine': 'bad', 'health.reboot_failed': 'bad', 'node.cut_off': 'bad', 'rollout.abort': 'bad', 'boot.refused': 'bad',
  'boot.no_image': 'bad',
  'condition.unknown': 'warn', 'node.drain': 'warn', 'health.drain': 'warn', 'slurm.drain': 'warn', 'rollout.pause': 'warn',
  'condition.good': 'good', 'node.back': 'good', 'node.resume': 'good', 'health.resume': 'good', 'slurm.resume': 'good',
};
const FAMILIES = ['backup', 'boot', 'ca', 'condition', 'controller', 'exec', 'health', 'image', 'inventory', 'node', 'reboot', 'rollout', 'run', 'silence', 'slurm',
  'snapshot', 'validation'];

// A longer list begins anew with the newest.
const MAX_EVENTS = 1000;

function keyOf(event) { return JSON.stringify([event.time, event.kind, event.nodes, event.subject, event.text]); }

// A list that grows into the past. `view()` is the view that it is in; `query` says which events;
// `ofNode` leaves the nodes out.
class Events {
  constructor(view, query, ofNode) {
    this.query = query;
    this.ofNode = ofNode;
    this.events = [];
    this.next = null;
    this.hasOlder = false;
    this.asked = 0;
    this.list = h('div');
    this.more = h('button', {type: 'button', hidden: true, onclick: () => view().attempt(() => this.older())}, 'Older events');
    this.element = h('div', null, this.list, this.more);
  }

  // The newest. What somebody has turned to stays, unless more has happened than fits on a page.
  async refresh() {
    const asked = ++this.asked;
    const page = await get('timeline', this.query());
    if (asked !== this.asked) return;   // perhaps of another query
    const known = new Set(this.events.map(keyOf));
    const fresh = page.events.filter((event) => !known.has(keyOf(event)));
    if (this.hasOlder && this.events.length < MAX_EVENTS && (fresh.length < page.events.length || !fresh.length)) {
      this.events = [...fresh, ...this.events];
    } else {
      this.hasOlder = false;
      this.events = page.events;
      this.next = page.next;
    }
    this.show();
  }

  // Another query follows: what was found by the one before goes.
  clear() {
    ++this.asked;
    this.hasOlder = false;
    this.events = [];
    this.next = null;
    put(this.list, empty('Reading…'));
    this.more.hidden = true;
  }

  async older() {
    const from = this.next;
    this.hasOlder = true;   // already now, so that `next` stays while this waits
    const page = await get('timeline', {...this.query(), audit: from.audit, health: from.health, boot: from.boot});
    if (this.next !== from) return;   // the list has begun anew, or has these already
    this.events = [...this.events, ...page.events];
    this.next = page.next;
    this.show();
  }

  show() {
    const columns = [{title: 'When'}, {title: 'Kind'}, ...(this.ofNode ? [] : [{title: 'Nodes'}]), {title: 'By'}, {title: 'What'}];
    put(this.list, this.events.length ? table(columns,
      this.events.map((event) => [when(event.time), badge(event.kind, TONES[event.kind] ?? 'plain'),
        ...(this.ofNode ? [] : [event.nodes ? nodesLink(event.nodes) : '']), event.actor,
        h('span.wrap', null, linked(event.subject ? `${event.subject}: ${event.text}` : event.text))]), 'Events, newest first')
      : empty(this.next ? 'Nothing in the newest part of the history.' : 'Nothing has happened.'));
    this.more.hidden = !this.next;
  }
}

export function eventsOfNode(name, view) {
  const events = new Events(view, () => ({nodes: name}), true);
  return {element: card('Events', events.element), refresh: () => events.refresh()};
}

export function eventsView() {
  const kind = h('select', {id: 'kind', onchange: () => { events.clear(); view.ask(); }},
    h('option', {value: ''}, 'all'), FAMILIES.map((family) => h('option', {value: family}, family)));
  const events = new Events(() => view, () => (kind.value ? {kind: kind.value} : {}), false);
  const element = h('div', null, h('div.head', null, h('h1', null, 'Events'),
    h('span', null, h('label', {for: 'kind'}, 'Kind '), kind)), card('', events.element));
  const view = {title: 'Events', section: 'events', element, refresh: () => events.refresh(), on: ['overview', 'status']};
  return view;
}
