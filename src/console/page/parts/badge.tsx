import type { ComponentChildren } from 'preact';
import type { Tone } from '../state/toasts.ts';

/** A word about a state. The word says it; the colour only helps. */
export const Badge = ({ tone = 'plain', children }: { readonly tone?: Tone; readonly children: ComponentChildren }) => (
  <span class={`badge ${tone}`}>{children}</span>
);
