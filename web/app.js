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

let session = null, view = null, shared = null, feed = null;
const troubles = new Map();   // what the banner says, by who says it
const LOST = 'Connection lost: what is shown may be old. Trying again…';

const app = {
  // Shows the nodes that fit; "" shows all.
  search(text) { location.hash = text ? `#/?q=${encodeURIComponent(text)}` : '#/'; },
};

function trouble(who, text) {
  if (text) troubles.set(who, text); else troubles.delete(who);
  banner.hidden = !troubles.size;
  banner.textContent = [...troubles.values()][0] ?? '';
}

function showError(error) {
  if (!(error instanceof ApiError)) throw error;
  if (error.status === 401) return showLogin(error.message);
  if (error.status === 0) return trouble('call', LOST);
  // What the controller, or something that stands before it, may answer otherwise in a moment.
  if (error.status === 429 || error.status >= 500)
    return trouble('call', `What is shown may be old: ${error.message}. Trying again…`);
  trouble('call', '');
  stopFeed();
  put(main, empty(error.message));
}

// Reads a view anew; and, if its thing goes on, listens to it.
async function refresh(of) {
  try {
    const goesOn = await of.refresh();
    if (of !== view) return;
    trouble('call', '');
    if (!main.contains(of.element)) put(main, of.element);   // after an error
    if (of.live && goesOn && !feed && !document.hidden) listen(of);
    if (of.live && !goesOn && feed) stopFeed();
  } catch (error) {
    if (of === view) showError(error);
  }
}

function stopFeed() {
  feed?.close();
  feed = null;
}

function listen(of) {
  const ended = () => { if (feed === own) { stopFeed(); of.ask(); } };
  const own = new Live(of.live.path, {
    change: (data) => { if (feed === own) { of.live.change?.(JSON.parse(data)); of.ask(); } },
    broken: ended,
    end: ended,
  }, (state) => {
    // It comes back later by itself; until then the view says what has changed, and whether it is over.
    if (state === 'refused' && feed === own) of.ask();
  });
  feed = own;
}

// A browser has six connections to a controller, which pages that nobody sees would take: they have
// no streams.
function startShared() {
  if (shared || document.hidden) return;
  const changed = (name) => () => { if (view?.on.includes(name)) view.ask(); };
  shared = new Live('', {overview: changed('overview'), status: changed('status')}, (state) => {
    trouble('stream', state === 'open' ? '' : LOST);
    // After a break, everything may be different; a refusal may mean that the session has ended.
    if (state === 'refused' || (state === 'open' && shared?.wasLost)) view?.ask();
    if (shared) shared.wasLost = state !== 'open';
  });
}

function stopShared() {
  shared?.close();
  shared = null;
  trouble('stream', '');
}

function stopAll() {
  stopFeed();
  stopShared();
  view?.close?.();
  view = null;
  for (const dialog of document.querySelectorAll('dialog')) dialog.close();
}

function showLogin(why) {
  stopAll();
  session = null;
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
    if (error instanceof ApiError || error instanceof TypeError) showLogin(error.message);
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
  stopFeed();
  view?.close?.();
  view = null;
  const make = ROUTES[name];
  if (!make) { trouble('call', ''); return put(main, empty('There is no such page.')); }
  view = make(argument, parameters);
  const current = view;
  current.ask = calmly(() => refresh(current));
  put(main, current.element);
  markSection();
  window.scrollTo(0, 0);
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
function say(text) {
  const said = byId('said');
  said.textContent = text;
  said.hidden = false;
  clearTimeout(saidTimer);
  saidTimer = setTimeout(() => { said.hidden = true; said.textContent = ''; }, 15000);
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
  startShared();
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
  if (document.hidden) { stopFeed(); stopShared(); }
  else if (session) { startShared(); view?.ask(); }
});

applyTheme();
if (location.hash.startsWith('#/login/')) route();
else await begin();
