// What operators change from here: a button, a question, and one call.
import {ApiError, act} from './api.js';
import {h} from './dom.js';

let isOperator = false, announce = () => {};

// Viewers get no buttons; the controller refuses their calls anyway.
export function allowActions(session, say) {
  isOperator = session.role !== 'viewer';
  announce = say;
}

const LENGTHS = [['2 hours', 7200], ['8 hours', 28800], ['1 day', 86400], ['7 days', 604800], ['30 days', 2592000]];

function field(label, input) {
  input.id = `ask-${label.split(' ')[0].toLowerCase()}`;
  return h('p', null, h('label', {for: input.id}, label), input);
}

// Asks, and makes the call when the answer is yes. The browser keeps the keyboard inside the dialog,
// and gives it back to the button afterwards.
function ask({title, text, verb, needsReason, hasLength, path, body, done, said}) {
  const reason = h('input', {required: needsReason, maxlength: '1000', autocomplete: 'off'});
  const length = hasLength ? h('select', null, LENGTHS.map(([words, seconds]) => h('option', {value: String(seconds)}, words))) : null;
  const error = h('p.note.bad', {role: 'alert', hidden: true});
  const wait = h('p.quiet', {role: 'status'});
  const confirm = h('button.strong', {type: 'submit'}, verb);
  const cancel = h('button', {type: 'button', onclick: () => dialog.close()}, 'Cancel');
  const form = h('form', {method: 'dialog', onsubmit: async (event) => {
    event.preventDefault();
    confirm.disabled = true;
    error.hidden = true;
    // What was decided holds at once; only Slurm has to be told yet.
    const patience = setTimeout(() => { wait.textContent = 'Working… Slurm may take half a minute to answer. It goes on if you close this.'; }, 2000);
    try {
      const answer = await act(path, {...body, reason: reason.value.trim(), ...(length ? {seconds: Number(length.value)} : {})});
      dialog.close();
      if (answer.trouble) announce(`${said} Slurm was not told yet: ${answer.trouble}`, 'warn');
      else announce(said);
      done();
    } catch (problem) {
      if (!(problem instanceof ApiError)) throw problem;
      if (!dialog.open) return announce(`${title} failed: ${problem.message}`, 'bad');
      error.textContent = problem.message;
      error.hidden = false;
      confirm.disabled = false;
    } finally {
      clearTimeout(patience);
      wait.textContent = '';
    }
  }}, h('h2', {id: 'ask-title'}, title), h('p', null, text),
  field(needsReason ? 'Reason' : 'Reason (may be empty)', reason), length ? field('Length', length) : null, error, wait,
  h('div.row.end', null, cancel, confirm));
  const dialog = h('dialog', {'aria-labelledby': 'ask-title', onclose: () => dialog.remove()}, form);
  document.body.append(dialog);
  dialog.showModal();
  reason.focus();
}

function button(label, key, question) {
  return isOperator ? h('button', {type: 'button', 'data-key': key, onclick: () => ask(question)}, label) : null;
}

export function drainButton(name, done) {
  return button('Drain…', 'drain', {title: `Drain ${name}`, verb: 'Drain', needsReason: true, path: 'node/drain', body: {nodes: name}, done,
    text: 'Slurm gives it no more jobs; running jobs end. It stays so until somebody resumes it.', said: `${name} is drained.`});
}
export function resumeButton(name, done) {
  return button('Resume…', 'resume', {title: `Resume ${name}`, verb: 'Resume', path: 'node/resume', body: {nodes: name}, done,
    text: 'Ends the drains of people and of conditions. Slurm gives it jobs when nothing else keeps it out.', said: `${name} is resumed.`});
}
export function silenceButton(name, condition, done) {
  return button('Silence…', `silence ${condition}`, {title: `Silence ${condition} of ${name}`, verb: 'Silence', needsReason: true, hasLength: true,
    path: 'silence', body: {nodes: name, condition}, done, text: 'For some time: no drain and no notification for this condition.',
    said: `${condition} of ${name} is silenced.`});
}
export function endSilenceButton(id, condition, done) {
  return button('End silence…', `end ${id} ${condition}`, {title: `End the silence ${id}`, verb: 'End silence', path: 'silence/end', body: {id}, done,
    text: `${condition} is treated by the policy again, on all nodes of the silence.`, said: `The silence ${id} has ended.`});
}
export function pauseButton(id, done) {
  return button('Pause…', 'pause', {title: `Pause ${id}`, verb: 'Pause', path: 'rollout/pause', body: {id}, done,
    text: 'The update takes no more nodes; those that it has taken are finished.', said: `${id} is paused.`});
}
export function continueButton(id, done) {
  return button('Continue…', 'continue', {title: `Continue ${id}`, verb: 'Continue', path: 'rollout/resume', body: {id}, done,
    text: 'The update takes nodes again.', said: `${id} continues.`});
}
