// Routes, the frame around the views, and what keeps a view true.
import {allowActions} from './actions.js';
import {ApiError, Live, calmly, get, keepToken, post} from './api.js';
import {auditView} from './audit.js';
import {empty, h, keepTimes, put} from './dom.js';
import {nodeView} from './node.js';
import {overviewView} from './overview.js';
import {rolloutView, rolloutsView} from './rollouts.js';
import {runView, runsView} from './runs.js';
import {applyTheme, themeButton} from './theme.js';
import {eventsView} from './timeline.js';
import {validationView, validationsView} from './validations.js';

const SECTIONS = [
  {key: 'overview', label: 'Overview', href: '#/'},
  {key: 'runs', label: 'Runs', href: '#/runs'},
  {key: 'rollouts', label: 'Updates', href: '#/rollouts'},
  {key: 'validations', label: 'Validations', href: '#/validations'},
  {key: 'events', label: 'Events', href: '#/events'},
  {key: 'audit', label: 'Audit', href: '#/audit', isForOperators: true},
];
const ROUTES = {
  '': (argument, query) => overviewView(query.get('q') ?? '', app),
  node: nodeView, runs: runsView, run: runView, rollouts: rolloutsView, rollout: rolloutView,
  validations: validationsView, validation: validationView, events: eventsView, audit: auditView,
};
const byId = (id) => document.getElementById(id);
const [top_, main, banner, query] = ['top', 'main', 'banner', 'query'].map(byId);

let session = null, view = null, stream = null;
const troubles = new Map();   // what the banner says, by who says it
const LOST = 'Connection lost: what is shown may be old. Trying again…';

const app = {
  // Shows the nodes that fit; "" shows all.
  search(text) { location.hash = text ? `#/?q=${encodeURIComponent(text)}` : '#/'; },
};

function trouble(who, text) {
  if (text) troubles.set(who, text); else troubles.delete(who);
  banner.textContent = [...troubles.values()][0] ?? '';   // nothing is shown of an empty one
}

function showError(error) {
  if (!(error instanceof ApiError)) throw error;
  if (error.status === 401) return showLogin(error.message);
  if (error.status === 0) return trouble('call', LOST);
  // What the controller, or something that stands before it, may answer otherwise in a moment.
  if (error.status === 429 || error.status >= 500)
    return trouble('call', `What is shown may be old: ${error.message}. Trying again…`);
  trouble('call', '');
  if (view) view.goesOn = false;
  tune();
  put(main, empty(error.message));
}

// Does something for a view, whose errors are told unless it was left meanwhile.
async function attempt(of, act) {
  try {
    await act();
  } catch (error) {
    if (of === view) showError(error);
  }
}

// Reads a view anew; and, if its thing goes on, listens to it.
function refresh(of) {
  return attempt(of, async () => {
    const goesOn = await of.refresh();
    if (of !== view) return;
    trouble('call', '');
    if (!main.contains(of.element)) put(main, of.element);   // after an error
    of.goesOn = Boolean(of.live && goesOn);
    tune();
  });
}

// A browser has six connections to a controller for all of its windows. So a page has one stream,
// which tells of its view's thing and of the cluster, and one that nobody sees has none.
function tune() {
  const path = document.hidden || !session ? null : view?.goesOn ? view.live.path : '';
  if ((stream?.path ?? null) === path) return;
  stream?.close();
  stream = null;
  if (path === null) return trouble('stream', '');
  const changed = (name) => () => { if (view?.on.includes(name)) view.ask(); };
  const of = view;
  const ended = () => {
    if (own !== stream) return;
    of.goesOn = false;
    tune();
    of.ask();
  };
  let wasLost = false;
  const own = new Live(path, {
    overview: changed('overview'), status: changed('status'),
    change: (data) => { if (own === stream) { of.live.change?.(JSON.parse(data)); of.ask(); } },
    broken: ended, end: ended,
  }, (state) => {
    // Of a refusal the view's own call tells why: too many streams, say, are no lost connection.
    trouble('stream', state === 'lost' ? LOST : '');
    // After a break, everything may be different; a refusal may mean that the session has ended, or
    // the view's thing.
    if (state === 'refused' || (state === 'open' && wasLost)) view?.ask();
    wasLost = state !== 'open';
  });
  stream = own;
}

function stopAll() {
  session = null;
  tune();
  view?.close?.();
  view = null;
  for (const dialog of document.querySelectorAll('dialog')) dialog.close();
}

function showLogin(why) {
  stopAll();
  top_.hidden = true;
  trouble('call', '');
  document.title = 'Log in – Muster';
  const field = h('input', {id: 'token', 'aria-label': 'The link', placeholder: 'Paste the link here', autocomplete: 'off'});
  const form = h('form', {onsubmit: (event) => {
    event.preventDefault();
    logIn(field.value.trim().split('/').at(-1));
  }}, field, h('button', {type: 'submit'}, 'Log in'));
  put(main, h('section.card.login', null, h('h1', null, 'Log in to Muster'),
    why ? h('p', {role: 'alert'}, why) : null,
    h('p.quiet', null, 'Run ', h('code', null, 'muster web login'), ' and open the link that it prints. It works once, for five minutes.'), form));
}

async function logIn(link) {
  history.replaceState(null, '', '#/');   // the link is used up; nobody finds it in the history
  try {
    session = await post('login', link);
    keepToken(session.token);
    await start();
  } catch (error) {
    if (error instanceof ApiError) showLogin(error.message);
    else throw error;
  }
}

async function logOut() {
  try { await post('logout'); } catch { /* the session ends by itself */ }
  keepToken('');
  showLogin('You are logged out.');
}

function showFrame() {
  top_.hidden = false;
  byId('cluster').textContent = session.cluster;
  put(byId('nav'), SECTIONS.filter((section) => !section.isForOperators || session.role !== 'viewer')
    .map((section) => h('a', {href: section.href, 'data-section': section.key}, section.label)));
  put(byId('person'), h('span', {title: session.role}, session.name), themeButton(),
    h('button.bare', {type: 'button', id: 'logout', onclick: logOut}, 'Log out'));
}

function route() {
  const [path, words] = location.hash.replace(/^#\/?/, '').split('?');
  const [name, argument] = path.split('/').map(decodeURIComponent);
  if (name === 'login') return logIn(argument ?? '');
  if (!session) return showLogin('');
  const parameters = new URLSearchParams(words);
  const text = name === '' ? parameters.get('q') ?? '' : '';
  if (document.activeElement !== query) query.value = text;
  // Searching stays on the page, so that the grid does not blink.
  if (name === '' && view?.find) { view.find(text); return markSection(); }
  const wasInside = main.contains(document.activeElement);
  view?.close?.();
  view = null;
  tune();
  const make = ROUTES[name];
  if (!make) { trouble('call', ''); return put(main, empty('There is no such page.')); }
  view = make(argument, parameters);
  const current = view;
  current.ask = calmly(() => refresh(current));
  current.attempt = (act) => attempt(current, act);
  main.replaceChildren(current.element);
  markSection();
  window.scrollTo(0, 0);
  if (wasInside) main.focus({preventScroll: true});   // what had the focus has gone
  refresh(current);
}

function markSection() {
  document.title = `${view.title} – ${session.cluster}`;
  for (const each of byId('nav').children) {
    if (each.dataset.section === view.section) each.setAttribute('aria-current', 'page');
    else each.removeAttribute('aria-current');
  }
}

// Says what was done, for a while, and to screen readers.
let saidTimer = null;
function say(text, tone = 'good') {
  const said = byId('said');
  said.className = tone;
  said.textContent = text;
  clearTimeout(saidTimer);
  saidTimer = setTimeout(() => { said.textContent = ''; }, 15000);
}

async function begin() {
  if (session) return;
  try {
    session = await get('session');
    trouble('call', '');
    await start();
  } catch (error) {
    showError(error);
  }
}
const beginAgain = calmly(begin);

async function start() {
  allowActions(session, say);
  showFrame();
  route();
}

byId('search').addEventListener('submit', (event) => {
  event.preventDefault();
  const only = view?.only?.(query.value.trim());
  if (only) { query.blur(); location.hash = `#/node/${encodeURIComponent(only)}`; }
  else app.search(query.value.trim());
});
query.addEventListener('input', () => { if (view?.find) view.find(query.value.trim()); });
byId('skip').addEventListener('click', () => main.focus());
// "/" searches, as on many pages.
document.addEventListener('keydown', (event) => {
  const isTyping = /^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement?.tagName ?? '');
  if (event.key === '/' && !isTyping && session) { event.preventDefault(); query.focus(); }
});
window.addEventListener('hashchange', route);
setInterval(() => keepTimes(main), 15000);
// A view whose controller was away is read again, whatever else happens; so is the session.
setInterval(() => {
  if (!troubles.has('call')) return;
  if (session) view?.ask(); else beginAgain();
}, 5000);
// A hidden page asks rarely, so that its session does not end.
setInterval(() => { if (document.hidden) view?.ask(); }, 600000);
document.addEventListener('visibilitychange', () => {
  tune();
  if (!document.hidden && session) view?.ask();
});

applyTheme();
if (location.hash.startsWith('#/login/')) route();
else await begin();
