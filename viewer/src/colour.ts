// Colours come from the style sheet; canvases ask for them here, and forget them when the theme changes.

import { effect, signal } from '@preact/signals-core';
import { KINDS } from './trace/kind';

export type Theme = 'light' | 'dark';
const dark = matchMedia('(prefers-color-scheme: dark)');
const chosen = signal<Theme | null>(readChoice());
/** Changes whenever canvases must be drawn anew because of colours. */
export const theme = signal<Theme>('light');
let cache = new Map<string, string>();

function readChoice(): Theme | null {
  try {
    const value = localStorage.getItem('pellucid-theme');
    return value === 'light' || value === 'dark' ? value : null;
  } catch {
    return null; // Storage may be switched off.
  }
}

export function followTheme(): void {
  const system = signal(dark.matches);
  dark.addEventListener('change', () => (system.value = dark.matches));
  effect(() => {
    const next = chosen.value ?? (system.value ? 'dark' : 'light');
    document.documentElement.dataset.theme = next;
    cache = new Map();
    theme.value = next;
  });
}

export function toggleTheme(): void {
  chosen.value = theme.value === 'dark' ? 'light' : 'dark';
  try {
    localStorage.setItem('pellucid-theme', chosen.value);
  } catch {
    // The choice holds until the page is closed.
  }
}

/** The value of a colour variable, such as `text` or `kind-matmul`, as the browser resolves it. */
export function colour(name: string): string {
  let value = cache.get(name);
  if (value === undefined) {
    const probe = document.body.appendChild(document.createElement('i'));
    probe.style.color = `var(--${name})`;
    value = getComputedStyle(probe).color;
    probe.remove();
    cache.set(name, value);
  }
  return value;
}

export const kindColour = (kind: number): string => colour(`kind-${KINDS[kind] ?? 'other'}`);
/** The same colour for the style of an element. */
export const kindVariable = (kind: number): string => `var(--kind-${KINDS[kind] ?? 'other'})`;
