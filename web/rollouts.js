// Rolling updates: the list, and one as it goes.
import {continueButton, pauseButton} from './actions.js';
import {get} from './api.js';
import {card, empty, facts, h, lasted, link, linked, nodeLink, put, table, when} from './dom.js';
import {bar, wordBadge} from './words.js';

const STEPS = ['done', 'resuming', 'validating', 'applying', 'draining', 'requeuing', 'failed', 'quarantined', 'skipped', 'pending'];
// Nodes with something to see come first.
const ORDER = ['failed', 'quarantined', 'requeuing', 'draining', 'applying', 'validating', 'resuming', 'pending', 'skipped', 'done'];
const MAX_ROWS = 200, MAX_EVENTS = 100;

function counts(nodes) {
  return STEPS.map((step) => [step, nodes.filter((node) => node.step === step).length]);
}

export function rolloutsView() {
  const list = card('');
  const element = h('div', null, h('div.head', null, h('h1', null, 'Updates')), list);
  async function refresh() {
    const {rollouts} = await get('rollouts');
    put(list, rollouts.length ? table(
      [{title: 'Update'}, {title: 'Playbook'}, {title: 'State'}, {title: 'Nodes', number: true}, {title: 'By'}, {title: 'Started'}, {title: 'Took', number: true}],
      rollouts.map((rollout) => [link(`#/rollout/${rollout.rollout_id}`, rollout.rollout_id), rollout.request.playbook, wordBadge(rollout.state),
        `${rollout.nodes.filter((node) => node.step === 'done').length} of ${rollout.nodes.length}`, rollout.created_by, when(rollout.created_at),
        rollout.finished_at ? lasted(rollout.created_at, rollout.finished_at) : '']), 'Updates, newest first')
      : empty('No update yet. `muster update playbooks/site.yaml` updates nodes a few at a time.'));
  }
  return {title: 'Updates', section: 'rollouts', element, refresh, on: ['status']};
}

function eventLine(event) {
  const what = event.node ? [nodeLink(event.node), ' ', wordBadge(event.step)] : [wordBadge(event.state), ` wave ${event.wave + 1}`];
  return h('li', null, h('div.row', null, what, h('span.wrap', null, linked(event.message)), h('span.quiet.end', null, when(event.time))));
}

export function rolloutView(id) {
  const element = h('div');
  let showsAll = false;
  const ask = () => view.ask?.();
  async function refresh() {
    const {rollout} = await get('rollout', {id});
    const sorted = [...rollout.nodes].sort((a, b) => ORDER.indexOf(a.step) - ORDER.indexOf(b.step));
    const rows = showsAll ? sorted : sorted.slice(0, MAX_ROWS);
    const {request} = rollout;
    put(element,
      h('div.head', null, h('h1', null, request.playbook), wordBadge(rollout.state),
        h('span.quiet', null, rollout.rollout_id, rollout.finished_at ? `, took ${lasted(rollout.created_at, rollout.finished_at)}` : ''),
        rollout.state === 'paused' ? continueButton(id, ask) : ['rolling', 'soaking'].includes(rollout.state) ? pauseButton(id, ask) : null),
      rollout.message ? h('div.note.warn', null, linked(rollout.message)) : null,
      card('', bar(counts(rollout.nodes), 'Nodes by step'), facts([
        ['Wave', rollout.finished_at ? null : `${rollout.wave + 1} of ${rollout.wave_sizes.length}, to ${rollout.wave_sizes[rollout.wave] ?? rollout.nodes.length} nodes`],
        ['Out of service at once', `${rollout.max_unavailable} at most`],
        ['Suite', request.suite], ['Windows', request.windows.join(', ')],
        ['Started', h('span', null, when(rollout.created_at), ` by ${rollout.created_by}`)],
        ['Rolled back by', rollout.rolled_back_by ? link(`#/rollout/${rollout.rolled_back_by}`, rollout.rolled_back_by) : null],
        ['Not workers', rollout.left_out],
      ])),
      h('div.columns', null,
        card('Nodes', table([{title: 'Node'}, {title: 'Step'}, {title: 'Since'}, {title: 'Run'}, {title: 'Validation'}, {title: 'Note'}],
          rows.map((node) => [nodeLink(node.node), wordBadge(node.step), when(node.since),
            node.run_id ? link(`#/run/${node.run_id}`, node.run_id) : '',
            node.validation_id ? link(`#/validation/${node.validation_id}`, node.validation_id) : '', node.message]), 'Nodes of the update'),
          rows.length < sorted.length ? h('button', {type: 'button', onclick: () => { showsAll = true; ask(); }}, `Show all ${sorted.length} nodes`) : null),
        card('What happened', rollout.events.length
          ? h('ul.list', null, rollout.events.slice(-MAX_EVENTS).reverse().map(eventLine)) : empty('Nothing yet.'))));
    return !rollout.finished_at;
  }
  const view = {title: id, section: 'rollouts', element, refresh, on: ['status'],
    live: {path: `/rollout?id=${encodeURIComponent(id)}`}};
  return view;
}
