// Runs: the list, and one run as it goes.
import {get} from './api.js';
import {card, empty, facts, h, lasted, link, nodeLink, put, table, when} from './dom.js';
import {bar, wordBadge} from './words.js';

const MAX_ROWS = 200;
const ORDER = ['failed', 'unreachable', 'rebooting', 'running', 'waiting', 'cancelled', 'done'];

export function runsView() {
  const element = h('div', null, h('div.head', null, h('h1', null, 'Runs')));
  const list = card('');
  element.append(list);
  async function refresh() {
    const {runs} = await get('runs');
    put(list, runs.length ? table(
      [{title: 'Run'}, {title: 'Playbook'}, {title: 'State'}, {title: 'Nodes'}, {title: 'By'}, {title: 'Started'}, {title: 'Took', number: true}],
      runs.map((run) => [link(`#/run/${run.run_id}`, run.run_id), run.playbook + (run.check_only ? ' (check)' : ''), wordBadge(run.state),
        run.limit || 'all of the playbook', run.created_by, when(run.created_at),
        run.finished_at ? lasted(run.created_at, run.finished_at) : '']), 'Runs, newest first')
      : empty('No run yet. `muster apply playbooks/site.yaml` starts one.'));
  }
  return {title: 'Runs', section: 'runs', element, refresh, on: ['status']};
}

function counts(nodes) {
  const by = new Map(ORDER.map((state) => [state, 0]));
  for (const node of nodes) by.set(node.state, (by.get(node.state) ?? 0) + 1);
  // Left to right: what is done, what is being done, what is still to do.
  return ['done', 'running', 'rebooting', 'failed', 'unreachable', 'cancelled', 'waiting'].map((state) => [state, by.get(state)]);
}

function validationNote(each) {
  return h('div.note', null, h('b', null, `Suite ${each.suite}: `), each.state.replaceAll('_', ' '),
    each.validation_id ? [', ', link(`#/validation/${each.validation_id}`, each.validation_id)] : null,
    each.message ? `: ${each.message}` : null, each.nodes ? h('span.quiet', null, ` (${each.nodes})`) : null);
}

function failedCard(results) {
  if (!results.length) return null;
  return card('Failed steps', h('ul.list', null, results.slice(0, 50).map(({node, result}) => h('li', null,
    h('div.row', null, nodeLink(node), h('b', null, `${result.role}: ${result.name}`), h('span.quiet', null, result.resource)),
    h('div.wrap', null, result.message), result.output ? h('pre', null, result.output) : null))),
    results.length > 50 ? h('p.quiet', null, `and ${results.length - 50} more`) : null);
}

export function runView(id) {
  const element = h('div');
  const head = h('div.head'), about = h('div'), progress = card('Progress'), failed = h('div');
  const bars = h('div'), nodesTable = h('div');
  progress.append(bars, nodesTable);
  element.append(head, about, progress, failed);
  const doing = new Map();   // node → the words for its present step
  let run = null, showsAll = false;

  function show() {
    put(head, h('h1', null, run.playbook), wordBadge(run.state),
      h('span.quiet', null, run.run_id, run.finished_at ? `, took ${lasted(run.created_at, run.finished_at)}` : ', running'));
    put(about, run.message ? h('div.note', null, run.message) : null, run.validations.map(validationNote),
      run.left_out.map((each) => h('div.note.warn', null, h('b', null, `Left out: ${each.nodes} `), each.reason)),
      card('', facts([
        ['Play', run.plays.length && !run.finished_at ? `${run.current_play + 1} of ${run.plays.length}: ${run.plays[run.current_play] ?? ''}` : run.plays.join(', ')],
        ['Started', h('span', null, when(run.created_at), ` by ${run.created_by}`)],
        ['Nodes', run.limit], ['Tags', run.tags.join(', ')], ['Only checks', run.check_only ? 'yes' : null],
        ['Catches up', run.catches_up_run_id ? link(`#/run/${run.catches_up_run_id}`, run.catches_up_run_id) : null],
      ])));
    put(bars, bar(counts(run.nodes), 'Nodes by state'));
    showNodes();
  }
  function showNodes() {
    const sorted = [...run.nodes].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state) || (a.node < b.node ? -1 : 1));
    const rows = showsAll ? sorted : sorted.slice(0, MAX_ROWS);
    const number = (title) => ({title, number: true});
    put(nodesTable, run.nodes.length ? table(
      [{title: 'Node'}, {title: 'State'}, number('ok'), number('changed'), number('failed'), number('skipped'), {title: 'Now'}],
      rows.map((node) => [nodeLink(node.node), wordBadge(node.state), String(node.ok), String(node.changed), String(node.failed),
        String(node.skipped), node.message || (node.state === 'running' ? doing.get(node.node) ?? '' : '')]), 'Nodes of the run')
      : empty('No node has begun.'),
      rows.length < sorted.length ? h('button', {type: 'button', onclick: () => { showsAll = true; showNodes(); }}, `Show all ${sorted.length} nodes`) : null);
  }
  async function refresh() {
    ({run} = await get('run', {id}));
    show();
    const hasFailed = run.nodes.some((node) => node.failed > 0);
    put(failed, hasFailed ? failedCard((await get('run/failed', {id})).results) : null);
    return !run.finished_at;
  }
  return {
    title: run ? run.playbook : id, section: 'runs', element, refresh, on: ['status'],
    live: {
      path: `/run?id=${encodeURIComponent(id)}`,
      // Shows at once what an event says itself; the counts follow with the next refresh.
      change(events) {
        for (const event of events) {
          const step = event.progress ?? event.step;
          if (step) doing.set(event.node, `${step.role}: ${step.activity || step.name}`);
          const node = event.node_finished && run?.nodes.find((each) => each.node === event.node);
          if (node) Object.assign(node, event.node_finished);
        }
        if (run) { put(bars, bar(counts(run.nodes), 'Nodes by state')); showNodes(); }
      },
    },
  };
}
