// What the controller says: answers, and events while the page is open.

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

async function read(response) {
  let answer = {};
  try {
    answer = await response.json();
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // an error of something that stands before the controller
  }
  if (!response.ok) throw new ApiError(response.status, answer.error ?? `the server answers ${response.status}`);
  return answer;
}

// What each request proves by that it comes from the page: the session's token. The session's cookie
// goes to whatever else listens on this host, too; the browser's store is of this address and port
// alone, and of all its tabs.
const TOKEN = 'token';
let kept = '';   // where the browser stores nothing

// '' forgets it.
export function keepToken(token) {
  kept = token;
  try {
    localStorage.removeItem(TOKEN);   // an earlier one must not stay where there is no room for this
    if (token) localStorage.setItem(TOKEN, token);
  } catch { /* this tab alone has it then */ }
}

// A login or logout in another tab is one of this tab, too, which must not act for one person under
// the name of another. A page that the browser has kept aside hears of neither.
window.addEventListener('storage', (event) => { if (event.key === TOKEN) location.reload(); });
window.addEventListener('pageshow', (event) => { if (event.persisted) location.reload(); });

function proof() {
  let token = kept;
  try { token = localStorage.getItem(TOKEN) ?? token; } catch { /* as above */ }
  return {'X-Muster-Page': token || '1'};
}

// A laptop that wakes up has connections that nobody answers and nobody ends: every wait is limited,
// in milliseconds. A drain waits for Slurm, more than a minute where slurmctld is silent.
const GET_LIMIT = 30000, POST_LIMIT = 180000;
// The controller shows every 15 s that a stream is alive (controller/web/live_events.h).
const STREAM_LIMIT = 40000;

async function call(path, options, limit) {
  try {
    return await read(await fetch(`/api/${path}`, {...options, headers: proof(), signal: AbortSignal.timeout(limit)}));
  } catch (error) {
    if (error instanceof ApiError) throw error;
    throw new ApiError(0, 'the controller does not answer');
  }
}

// get('node', {name}): GET /api/node?name=…
export function get(path, query = {}) {
  const words = new URLSearchParams(query).toString();
  return call(`${path}${words ? `?${words}` : ''}`, {}, GET_LIMIT);
}

export function post(path, body = '') { return call(path, {method: 'POST', body}, POST_LIMIT); }

// act('node/drain', {nodes, reason}): changes something, as the person who is logged in.
export function act(path, fields) { return post(path, JSON.stringify(fields)); }

// Events of /api/events/…, until close(). `on` has a function for each name of an event, which gets
// its data. `onState` is told 'open', 'lost' and 'refused'; this object comes back by itself, two
// seconds after 'lost' and five after 'refused'. A stream that falls silent is lost. An EventSource
// cannot send the token.
export class Live {
  constructor(path, on, onState) {
    this.path = path;
    this.on = on;
    this.onState = onState;
    this.last = '';   // the id of the newest event that has one
    this.isClosed = false;
    this.open();
  }

  async open() {
    const {signal} = this.stop = new AbortController();
    this.expectBytes();
    const headers = proof();
    if (this.last) headers['Last-Event-ID'] = this.last;
    let state = 'lost';
    try {
      const response = await fetch(`/api/events${this.path}`, {headers, signal, cache: 'no-store'});
      if (response.ok) {
        this.hear(this.onState, 'open');
        await this.follow(response.body.getReader());
      } else {
        state = 'refused';
      }
    } catch { /* the connection broke or fell silent, or close() was called */ }
    clearTimeout(this.silence);
    if (this.isClosed) return;
    // Set before anybody hears of it, so that close() ends it.
    this.timer = setTimeout(() => this.open(), state === 'refused' ? 5000 : 2000);
    this.hear(this.onState, state);
  }

  expectBytes() {
    clearTimeout(this.silence);
    this.silence = setTimeout(() => this.stop.abort(), STREAM_LIMIT);
  }

  async follow(reader) {
    const decoder = new TextDecoder();
    let text = '';
    for (;;) {
      const {value, done} = await reader.read();
      if (done || this.isClosed) return;
      this.expectBytes();
      const events = (text + decoder.decode(value, {stream: true})).split('\n\n');
      text = events.pop();
      for (const event of events) if (!this.isClosed) this.tell(event);
    }
  }

  // Lines such as "event: change"; the data is one line.
  tell(event) {
    const fields = {};
    for (const line of event.split('\n')) {
      const colon = line.indexOf(': ');
      fields[line.slice(0, colon)] = line.slice(colon + 2);
    }
    if (fields.id) this.last = fields.id;
    this.hear(this.on[fields.event], fields.data);
  }

  // An error of a listener breaks no stream, and is not taken for one of the connection.
  hear(listener, data) {
    try { listener?.(data); } catch (error) { reportError(error); }
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.timer);
    clearTimeout(this.silence);
    this.stop.abort();
  }
}

// In milliseconds. With the 750 ms after which the controller tells of a change at the latest, what
// has changed is on the page within a second.
const SHORTEST_PAUSE = 150;

// Calls `act` soon, once for however many calls come meanwhile, and never a second time before it is
// done; the longer it takes, the longer it waits.
export function calmly(act, pause = SHORTEST_PAUSE) {
  let timer = null, isBusy = false, isAskedAgain = false;
  return function ask() {
    if (isBusy) { isAskedAgain = true; return; }
    if (timer) return;
    timer = setTimeout(async () => {
      timer = null;
      isBusy = true;
      const began = performance.now();
      try {
        await act();
      } finally {
        pause = Math.max(SHORTEST_PAUSE, 4 * (performance.now() - began));
        isBusy = false;
        if (isAskedAgain) { isAskedAgain = false; ask(); }
      }
    }, pause);
  };
}
