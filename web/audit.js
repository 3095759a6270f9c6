// The audit log, for operators and administrators.
import {get} from './api.js';
import {card, empty, h, put, table, when} from './dom.js';

export function auditView() {
  const list = h('div');
  const more = h('button', {type: 'button', hidden: true}, 'Older entries');
  const element = h('div', null, h('div.head', null, h('h1', null, 'Audit log')), card('', list, more));
  let events = [];
  function show() {
    put(list, events.length ? table(
      [{title: '#', number: true}, {title: 'When'}, {title: 'Who'}, {title: 'From'}, {title: 'Action'}, {title: 'What'}, {title: 'Detail'}],
      events.map((event) => [String(event.sequence), when(event.time), event.actor, event.peer.replace(/^ipv[46]:/, ''), event.action, event.subject, event.detail]),
      'Audit log, newest first') : empty('The log is empty.'));
    more.hidden = !events.length || events.at(-1).sequence <= 1;
  }
  async function refresh() {
    events = (await get('audit')).events;
    show();
  }
  more.addEventListener('click', async () => {
    const older = (await get('audit', {before: events.at(-1).sequence})).events;
    events = [...events, ...older];
    show();
  });
  return {title: 'Audit log', section: 'audit', element, refresh, on: []};
}
