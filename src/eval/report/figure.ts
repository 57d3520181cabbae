import { html, type Markup, table } from './markup.ts';
import { type Color, drawPlot, type Plot, type Shape } from './plot.ts';

/** A line of the key below a drawing. */
export type KeyEntry = {
  readonly name: string;
  readonly color: Color;
  readonly shape?: Shape;
  readonly isDashed?: boolean;
  readonly isBar?: boolean;
};

type Figure = {
  readonly id: string;
  readonly title: string;
  /** What the figure is about, where the page has others with the same title. */
  readonly subject?: string;
  /** What the drawing shows, in words and numbers. */
  readonly description: string;
  readonly plot: Plot;
  readonly key: readonly KeyEntry[];
  readonly numbers: { readonly head: readonly string[]; readonly rows: readonly (readonly (string | number)[])[] };
};

const shapeMarkup = (shape: Shape): Markup => {
  if (shape === 'circle') return html`<circle cx="14" cy="7" r="4"/>`;
  if (shape === 'diamond') return html`<path d="M14 1l6 6-6 6-6-6z"/>`;
  return shape === 'triangle' ? html`<path d="M14 2l5 9h-10z"/>` : html``;
};

const keyEntry = ({ name, color, shape = 'none', isDashed = false, isBar = false }: KeyEntry): Markup => {
  const line = html`<path d="M1 7h26" stroke="var(--${color})" stroke-width="2" stroke-dasharray="${isDashed ? '5,3' : 'none'}"/>`;
  const isPoint = shape !== 'none' && isDashed === false && name.startsWith('at ');
  const drawn = isBar ? html`<path d="M8 1h12v12h-12z"/>` : html`${isPoint ? html`` : line}${shapeMarkup(shape)}`;
  return html`<li><svg viewBox="0 0 28 14" aria-hidden="true" fill="var(--${color})">${drawn}</svg>${name}</li>`;
};

/** A drawing with its title, what it says, its key, and the numbers in it as a table. */
export const figureMarkup = ({ id, title, subject, description, plot, key, numbers }: Figure): Markup => {
  const name = subject === undefined ? title : `${title}: ${subject}`;
  return html`<figure id="${id}">
<h3>${title}</h3>
${drawPlot(plot, { id: `${id}-s`, title: name, description })}
<ul class="key">${key.map(keyEntry)}</ul>
<figcaption>${description.charAt(0).toUpperCase() + description.slice(1)}</figcaption>
<details><summary>Numbers</summary>${table({ caption: name, ...numbers })}</details>
</figure>
`;
};
