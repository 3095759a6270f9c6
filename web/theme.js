// Light or dark: as the system says, or as somebody chose here.
import {h} from './dom.js';

const system = matchMedia('(prefers-color-scheme: dark)');

let chosen = null;
try { chosen = localStorage.getItem('theme'); } catch { /* the browser keeps nothing */ }

export function isDark() { return (chosen ?? (system.matches ? 'dark' : 'light')) === 'dark'; }

export function applyTheme() {
  document.documentElement.classList.toggle('dark', isDark());
  // Canvases have no style sheet.
  for (const canvas of document.querySelectorAll('canvas')) canvas.dispatchEvent(new Event('theme'));
}
system.addEventListener('change', applyTheme);

export function themeButton() {
  const name = () => (isDark() ? 'Light colors' : 'Dark colors');
  const button = h('button.bare', {type: 'button', id: 'theme', title: name(), 'aria-label': name()}, '◐');
  button.addEventListener('click', () => {
    chosen = isDark() ? 'light' : 'dark';
    try { localStorage.setItem('theme', chosen); } catch { /* it lasts as long as the page then */ }
    applyTheme();
    button.title = name();
    button.setAttribute('aria-label', name());
  });
  return button;
}
