// One node: what it is, what it does, what is wrong with it.
import {drainButton, endSilenceButton, resumeButton, silenceButton} from './actions.js';
import {ApiError, get} from './api.js';
import {card, empty, facts, h, link, linked, put, table, when} from './dom.js';
import {readingsOf} from './readings.js';
import {eventsOfNode} from './timeline.js';
import {badge, statusBadge, statusOf, wordBadge} from './words.js';

function note(tone, ...content) { return h(`div.note.${tone}`, null, ...content); }

function troubles(node) {
  return [
    node.locked_because ? note('bad', h('b', null, 'Locked: '), node.locked_because) : null,
    node.facts_refused ? note('warn', h('b', null, 'Facts refused: '), node.facts_refused, ' (', when(node.facts_refused_at), ')') : null,
    ...node.holds.map((hold) => note('warn', h('b', null, `Held by ${hold.owner}: `), hold.reason || 'no reason given', ' (', when(hold.since), ')')),
  ];
}

function lifeCard(node) {
  return card('Life', facts([
    ['Slurm', node.service ? linked(node.service) : null],
    ['Life cycle', node.state.replaceAll('_', ' ')],
    [node.connected ? 'Connected' : 'Last seen', node.connected ? `from ${node.peer.replace(/^ipv[46]:/, '')}` : when(node.last_seen_at)],
    ['Last run', node.last_run_id ? h('span.row', null, link(`#/run/${node.last_run_id}`, node.last_run_id), wordBadge(node.last_run_result)) : null],
    ['Role', node.role],
    ['Rack', node.rack],
    ['Groups', node.groups.join(', ')],
    ['Address', node.address],
    ['Agent', node.agent_version],
    ['Certificate until', when(node.certificate_expires_at)],
    ['Waits for approval', node.enrollment_description],
  ]));
}

function gib(mib) { return `${Math.round(mib / 1024)} GiB`; }

function machineCard(of) {
  return card('Machine', facts([
    ['Processor', of.cpu ? `${of.cpu.sockets} × ${of.cpu.model || 'processor'}, ${of.cpu.cpus} threads` : null],
    ['Memory', of.memory ? gib(of.memory.total_mib) : null],
    ['System', of.os ? `${of.os.pretty_name}, Linux ${of.os.kernel}` : null],
    ['Booted', of.os ? when(of.os.booted_at) : null],
    ['NVIDIA driver', of.nvidia_driver_version],
    ['Slurm', of.slurm ? of.slurm.version : null],
    ['As of', when(of.gathered_at)],
    ['Not known', of.unknown.length ? h('span', null, of.unknown.map(({probe, reason}) => h('div', null, `${probe}: ${reason}`))) : null],
  ]));
}

function gpuCard(of) {
  if (!of.gpus.length) return null;
  return card('GPUs', table(
    [{title: '#', number: true}, {title: 'Model'}, {title: 'Memory', number: true}, {title: 'Power limit', number: true}, {title: 'PCI address'}, {title: 'Serial'}],
    of.gpus.map((gpu) => [String(gpu.index), gpu.name, gib(gpu.memory_mib), gpu.power_limit_watts ? `${Math.round(gpu.power_limit_watts)} W` : '',
      h('span.mono', null, gpu.pci_address), h('span.mono', null, gpu.serial)]), 'GPUs'));
}

function networkCard(of) {
  if (!of.nics.length) return null;
  return card('Network', table(
    [{title: 'Interface'}, {title: 'Link'}, {title: 'Speed', number: true}, {title: 'Addresses'}, {title: 'Driver'}],
    of.nics.map((nic) => [nic.name, nic.up ? badge('up', 'good') : badge('down', 'plain'),
      nic.speed_mbits_per_s ? `${nic.speed_mbits_per_s / 1000} Gbit/s` : '', nic.addresses.join(', '), nic.driver]), 'Network interfaces'));
}

function diskCard(of) {
  if (!of.disks.length) return null;
  return card('Disks', table([{title: 'Disk'}, {title: 'Size', number: true}, {title: 'Model'}, {title: 'Serial'}],
    of.disks.map((disk) => [disk.name, `${Math.round(disk.size_bytes / 1e9)} GB`, disk.model, h('span.mono', null, disk.serial)]), 'Disks'));
}

function validationCard(name, validations) {
  return card('Validations', validations.length ? table(
    [{title: 'Validation'}, {title: 'Suite'}, {title: 'Outcome'}, {title: 'When'}],
    validations.map((validation) => {
      const verdict = validation.nodes.find((each) => each.node === name);
      const outcome = verdict?.is_witness ? 'witness' : verdict?.outcome;
      return [link(`#/validation/${validation.validation_id}`, validation.validation_id), validation.suite,
        outcome && outcome !== 'unspecified' ? wordBadge(outcome) : wordBadge(validation.state), when(validation.created_at)];
    }), 'Validations of the node') : empty('It was not validated yet.'));
}

const CONDITION_TONES = {bad: 'bad', unknown: 'warn', ok: 'good'};

function conditionCard(name, health, ask) {
  const rows = health.conditions.map((view) => {
    const {condition} = view;
    return [h('b', null, condition.name), condition.object, badge(condition.status, CONDITION_TONES[condition.status] ?? 'plain'), when(condition.since),
      view.response.replaceAll('_', ' '), h('span.wrap', null, condition.evidence, view.next ? h('div.quiet', null, linked(view.next)) : null),
      view.silence_id ? endSilenceButton(view.silence_id, condition.name, ask) : silenceButton(name, condition.name, ask)];
  });
  return card('Conditions', rows.length ? table(
    [{title: 'Condition'}, {title: 'Part'}, {title: 'Status'}, {title: 'Since'}, {title: 'Response'}, {title: 'Found'}, {title: 'Action'}],
    rows, 'Conditions of the node') : h('p.quiet', null, health.status === 'ok'
    ? `Nothing is wrong: its agent watches ${health.watched} conditions.` : 'Nothing is known of its health.'));
}

// A machine that has not joined has no health, and neither has one that the inventory does not name.
async function healthOf(name) {
  try {
    const {nodes} = await get('health', {nodes: name});
    return nodes.find((each) => each.node === name) ?? null;
  } catch (error) {
    if (error instanceof ApiError && [400, 404, 409].includes(error.status)) return null;
    throw error;
  }
}

// A node that never reported has no summary and no facts.
async function factsOf(node) {
  return node.summary ? (await get('node/facts', {name: node.name})).facts : null;
}

export function nodeView(name) {
  const element = h('div');
  const events = eventsOfNode(name, () => view);
  const readings = readingsOf(name);
  const ask = () => view.ask?.();
  async function refresh() {
    const [{node}, {validations}, health] = await Promise.all([get('node', {name}), get('validations', {node: name}), healthOf(name)]);
    const of = await factsOf(node);
    const status = statusOf({state: node.state, service: node.service, connected: node.connected, held: node.holds.length > 0});
    put(element,
      h('div.head', null, h('h1', null, node.name), statusBadge(status), h('span.quiet', null, node.summary),
        node.role === 'compute' ? h('span.row.end', null, drainButton(name, ask), resumeButton(name, ask)) : null),
      troubles(node),
      health ? conditionCard(name, health, ask) : null,
      readings.element,
      h('div.halves', null,
        h('div', null, lifeCard(node), validationCard(name, validations)),
        of === null ? card('Machine', empty('It has not reported yet what it is.')) : h('div', null, machineCard(of), gpuCard(of), networkCard(of), diskCard(of))),
      events.element);
    await events.refresh();
  }
  const view = {title: name, section: 'overview', element, refresh, on: ['overview', 'status'], close: () => readings.close()};
  return view;
}
