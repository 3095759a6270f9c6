// The audit log, for operators and administrators.
import {get} from './api.js';
import {card, empty, exact, h, put, table} from './dom.js';

// A longer list begins anew with the newest.
const MAX_ENTRIES = 1000;

export function auditView() {
  const list = h('div');
  const more = h('button', {type: 'button', hidden: true, onclick: () => view.attempt(older)}, 'Older entries');
  const element = h('div', null, h('div.head', null, h('h1', null, 'Audit log')), card('', list, more));
  let events = [];
  function show() {
    put(list, events.length ? table(
      [{title: '#', number: true}, {title: 'When'}, {title: 'Who'}, {title: 'From'}, {title: 'Action'}, {title: 'What'}, {title: 'Detail'}],
      events.map((event) => [String(event.sequence), exact(event.time), event.actor, event.peer.replace(/^ipv[46]:/, ''), event.action, event.subject, event.detail]),
      'Audit log, newest first') : empty('The log is empty.'));
    more.hidden = !events.length || events.at(-1).sequence <= 1;
  }
  // The newest. Older entries stay, unless more have come than fit on a page.
  async function refresh() {
    const page = (await get('audit')).events;
    const newest = events[0]?.sequence;
    const goesOn = page.length && events.length && events.length < MAX_ENTRIES && page.at(-1).sequence <= newest + 1;
    events = goesOn ? [...page.filter((event) => event.sequence > newest), ...events] : page;
    show();
  }
  async function older() {
    const last = events.at(-1).sequence;
    const page = (await get('audit', {before: last})).events;
    if (events.at(-1)?.sequence !== last) return;   // the list has begun anew
    events = [...events, ...page];
    show();
  }
  const view = {title: 'Audit log', section: 'audit', element, refresh, on: ['overview', 'status']};
  return view;
}
