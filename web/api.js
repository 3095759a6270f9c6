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
  } catch { /* an error of something that stands before the controller */ }
  if (!response.ok) throw new ApiError(response.status, answer.error ?? `the server answers ${response.status}`);
  return answer;
}

// get('node', {name}): GET /api/node?name=…
export async function get(path, query = {}) {
  const words = new URLSearchParams(query).toString();
  let response;
  try {
    response = await fetch(`/api/${path}${words ? `?${words}` : ''}`);
  } catch {
    throw new ApiError(0, 'the controller does not answer');
  }
  return read(response);
}

export async function post(path, body = '', token = '1') {
  return read(await fetch(`/api/${path}`, {method: 'POST', body, headers: {'X-Muster-Page': token}}));
}

// What a session's actions prove themselves by.
let token = '';
export function useToken(of) { token = of; }
// act('node/drain', {nodes, reason}): changes something, as the person who is logged in.
export function act(path, fields) { return post(path, JSON.stringify(fields), token); }

// Events of /api/events/…, until close(). `on` has a function for each name of an event, which gets
// its data. `onState` is told 'open', 'lost' and 'refused'; a browser comes back by itself after
// 'lost', and this object after 'refused', in five seconds.
export class Live {
  constructor(path, on, onState) {
    this.path = path;
    this.on = on;
    this.onState = onState;
    this.open();
  }

  open() {
    this.source = new EventSource(`/api/events${this.path}`);
    this.source.onopen = () => this.onState('open');
    this.source.onerror = () => {
      if (this.source.readyState !== EventSource.CLOSED) return this.onState('lost');
      // Set before anybody hears of it, so that close() ends it.
      this.timer = setTimeout(() => this.open(), 5000);
      this.onState('refused');
    };
    for (const [name, act] of Object.entries(this.on))
      this.source.addEventListener(name, (event) => act(event.data));
  }

  close() {
    clearTimeout(this.timer);
    this.source.close();
  }
}

// Calls `act` soon, once for however many calls come meanwhile, and never a second time before it is
// done; the longer it takes, the longer it waits.
export function calmly(act, pause = 300) {
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
        pause = Math.max(300, 4 * (performance.now() - began));
        isBusy = false;
        if (isAskedAgain) { isAskedAgain = false; ask(); }
      }
    }, pause);
  };
}
