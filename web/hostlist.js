// Host lists, as the command line writes them: c[001-003,007].

// ["c001", "c002", "c004"] as "c[001-002,004]". Names keep their order of first appearance.
export function fold(names) {
  const families = new Map();  // "c" and the width of the number → numbers
  for (const name of names) {
    const [, prefix, digits] = /^(.*?)(\d*)$/.exec(name);
    const key = `${prefix}\n${digits.length}`;
    if (!families.has(key)) families.set(key, {prefix, width: digits.length, numbers: []});
    families.get(key).numbers.push(digits);
  }
  return [...families.values()].map(({prefix, width, numbers}) => {
    if (!width) return prefix;
    const sorted = numbers.map(Number).sort((a, b) => a - b);
    const ranges = [];
    for (const number of sorted) {
      const last = ranges.at(-1);
      if (last && number === last[1] + 1) last[1] = number;
      else if (!last || number !== last[1]) ranges.push([number, number]);
    }
    const digits = (number) => String(number).padStart(width, '0');
    const words = ranges.map(([from, to]) => from === to ? digits(from) : `${digits(from)}-${digits(to)}`);
    return sorted.length === 1 ? prefix + words[0] : `${prefix}[${words.join(',')}]`;
  }).join(',');
}

// Commas outside of brackets.
function terms(query) {
  return query.split(/,(?![^[]*\])/).map((term) => term.trim()).filter(Boolean);
}

// A host list as terms that fit its names alone.
export function exactly(hostlist) {
  return terms(hostlist).map((term) => (/[[*?=]/.test(term) ? term : `=${term}`)).join(',');
}

// Whether a name is in a host list or fits a glob; "=word" fits that name, and a plain word every
// name that contains it.
function nameTest(term) {
  if (term.startsWith('=')) return (name) => name === term.slice(1);
  if (!/[[*?]/.test(term)) return (name) => name.includes(term);
  const sets = [];
  const pattern = term.replace(/\[([\d,\s-]*)\]?|[*?]|[^[*?]+/g, (part, inside) => {
    if (part === '*') return '.*';
    if (part === '?') return '.';
    if (!part.startsWith('[')) return part.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    sets.push(inside.split(',').map((range) => range.trim().split('-')));
    return '(\\d+)';
  });
  const whole = new RegExp(`^${pattern}$`);
  return (name) => {
    const found = whole.exec(name);
    return found !== null && sets.every((set, i) => set.some(([from, to]) => {
      const digits = found[i + 1];
      return from && digits.length === from.length && +digits >= +from && +digits <= +(to || from);
    }));
  };
}

const FIELDS = {
  rack: (value) => (node) => node.rack === value,
  switch: (value) => (node) => node.switch === value,
  role: (value) => (node) => node.role === value,
  is: (value) => (node) => node.status.key === value.replaceAll(' ', '_') ||
    node.status.label.toLowerCase().startsWith(value.toLowerCase()),
};

// A test for nodes {name, rack, switch, role, status}: terms joined by commas, of which one has to
// fit; "!term" takes nodes away; several fields of one kind are alternatives. null: all nodes.
export function matcher(query) {
  const wanted = [];
  const unwanted = [];
  for (const term of terms(query)) {
    const bare = term.startsWith('!') ? term.slice(1) : term;
    if (!bare) continue;
    const colon = bare.indexOf(':');
    const field = FIELDS[bare.slice(0, Math.max(colon, 0))];
    const inName = field ? null : nameTest(bare);
    const test = field ? field(bare.slice(colon + 1)) : (node) => inName(node.name);
    (term.startsWith('!') ? unwanted : wanted).push(test);
  }
  if (!wanted.length && !unwanted.length) return null;
  return (node) => (!wanted.length || wanted.some((test) => test(node))) && !unwanted.some((test) => test(node));
}
