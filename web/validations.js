// Validations: the list, and one with the verdicts of its nodes.
import {ApiError, get} from './api.js';
import {card, empty, facts, h, lasted, link, nodeLink, put, table, when} from './dom.js';
import {heatMap} from './heat_map.js';
import {bar, wordBadge} from './words.js';

const OUTCOMES = ['pass', 'unspecified', 'unknown', 'fail', 'skipped'];
const ORDER = ['fail', 'unknown', 'unspecified', 'skipped', 'pass'];
const MAX_ROWS = 200;

function counts(nodes) {
  const tested = nodes.filter((node) => !node.is_witness);
  return OUTCOMES.map((outcome) => [outcome === 'unspecified' ? 'running' : outcome,
    tested.filter((node) => node.outcome === outcome).length]);
}

function summary(nodes) {
  return counts(nodes).filter(([, count]) => count > 0).map(([word, count]) => `${count} ${word}`).join(', ');
}

export function validationsView() {
  const list = card('');
  const element = h('div', null, h('div.head', null, h('h1', null, 'Validations')), list);
  async function refresh() {
    const {validations} = await get('validations');
    put(list, validations.length ? table(
      [{title: 'Validation'}, {title: 'Suite'}, {title: 'State'}, {title: 'Nodes'}, {title: 'By'}, {title: 'Started'}, {title: 'Took', number: true}],
      validations.map((each) => [link(`#/validation/${each.validation_id}`, each.validation_id), each.suite, wordBadge(each.state),
        summary(each.nodes), each.created_by, when(each.created_at), each.finished_at ? lasted(each.created_at, each.finished_at) : '']), 'Validations, newest first')
      : empty('No validation yet. `muster validate compute --suite acceptance` tests the workers.'));
  }
  return {title: 'Validations', section: 'validations', element, refresh, on: ['status']};
}

function checkWords(check) { return [check.check, check.partner].filter(Boolean).join(' with '); }

// What stands against a node, each reason once.
function against(node) {
  return node.checks.filter((check) => ['fail', 'unknown'].includes(check.outcome)).map((check) =>
    h('div', null, wordBadge(check.outcome), ' ', h('b', null, checkWords(check)), ' ', check.reason));
}

function blameCard(blames) {
  if (!blames.length) return null;
  return card('Who is to blame', h('ul.list', null, blames.map((blame) => h('li', null,
    h('b', null, `${blame.kind.replaceAll('_', ' ')} ${blame.names.join(', ')}`), h('div.wrap', null, blame.message),
    blame.evidence.map((line) => h('div.quiet.wrap', null, line))))));
}

// Read when somebody wants it: of a large validation it is a great deal.
function pairsCard(id) {
  const maps = [];
  const place = h('div');
  const close = () => { for (const map of maps.splice(0)) map.close(); };
  const show = async () => {
    put(place, h('p.quiet', null, 'Reading…'));
    let said = null;
    try {
      const answer = await get('validation/pairs', {id});
      close();
      maps.push(...answer.maps.map(heatMap));
      if (!maps.length) said = 'Nothing was measured between these nodes.';
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      said = error.message;
    }
    put(place, said ? h('p.quiet', {role: 'status'}, said) : maps.map((map) => map.element));
  };
  put(place, h('button', {type: 'button', onclick: show}, 'Show what was measured between nodes'));
  return {element: card('Pairs', place), close};
}

export function validationView(id) {
  const element = h('div');
  const pairs = pairsCard(id);
  const doing = new Map();
  let showsAll = false, validation = null;
  function show() {
    const sorted = [...validation.nodes].sort((a, b) => ORDER.indexOf(a.outcome) - ORDER.indexOf(b.outcome));
    const rows = showsAll ? sorted : sorted.slice(0, MAX_ROWS);
    put(element,
      h('div.head', null, h('h1', null, `Suite ${validation.suite}`), wordBadge(validation.state),
        h('span.quiet', null, validation.validation_id, validation.finished_at ? `, took ${lasted(validation.created_at, validation.finished_at)}` : '')),
      card('', bar(counts(validation.nodes), 'Nodes by outcome'), facts([
        ['Started', h('span', null, when(validation.created_at), ` by ${validation.created_by}`)],
        ['Network', validation.rings.length ? h('span', null, validation.rings.map((ring) => h('div', null, ring.message))) : null],
      ])),
      blameCard(validation.blames),
      validation.nodes.length > 1 ? pairs.element : null,
      card('Nodes', table([{title: 'Node'}, {title: 'Outcome'}, {title: 'Checks passed', number: true}, {title: 'Slurm'}, {title: 'Note'}],
        rows.map((node) => [nodeLink(node.node), node.is_witness ? h('span.quiet', null, 'witness') : wordBadge(node.outcome === 'unspecified' ? 'running' : node.outcome),
          `${node.checks.filter((check) => check.outcome === 'pass').length} of ${node.checks.length}`, node.service,
          validation.state === 'running' && doing.has(node.node) ? doing.get(node.node) : against(node)]), 'Verdicts'),
        rows.length < sorted.length ? h('button', {type: 'button', onclick: () => { showsAll = true; show(); }}, `Show all ${sorted.length} nodes`) : null));
  }
  async function refresh() {
    ({validation} = await get('validation', {id}));
    show();
    return validation.state === 'running';
  }
  return {title: id, section: 'validations', element, refresh, on: ['status'], close: pairs.close,
    live: {
      path: `/validation?id=${encodeURIComponent(id)}`,
      change(events) {
        for (const {node, running} of events)
          if (running) doing.set(node, `${checkWords(running)}${running.progress?.phase ? `: ${running.progress.phase}` : ''}`);
        if (validation) show();
      },
    }};
}
