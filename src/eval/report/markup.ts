import { visibleLine } from '../../core/text.ts';

/** HTML that is safe to put into a page: only `html` and `trusted` make it. */
export type Markup = { readonly markup: string };
type Part = string | number | Markup | readonly Markup[];

/** HTML of our own making, such as a drawing. */
export const trusted = (markup: string): Markup => ({ markup });

/** Text for a page, as text and in quoted attributes alike. */
export const escapeText = (text: string): string =>
  text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

const markupOf = (part: Part): string => {
  if (typeof part === 'number') return String(part);
  if (typeof part === 'string') return escapeText(part);
  return 'markup' in part ? part.markup : part.map(({ markup }) => markup).join('');
};

/** A template of HTML. Values are escaped, unless they are `Markup` themselves. */
export const html = (strings: TemplateStringsArray, ...parts: readonly Part[]): Markup =>
  trusted(strings.map((text, index) => (index === 0 ? text : markupOf(parts[index - 1] ?? '') + text)).join(''));

const NAME_LIMIT_CHARS = 200;

/** A name from a file or a gateway: on one line, without invisible characters, and apart from the text around it. */
export const foreignName = (name: string): Markup => html`<bdi>${visibleLine(name, NAME_LIMIT_CHARS)}</bdi>`;

type Table = {
  readonly caption: string;
  readonly head: readonly string[];
  /** The first cell of a row is its head. */
  readonly rows: readonly (readonly (string | number | Markup)[])[];
};

/** A table that scrolls by itself where it is wider than the page. */
export const table = ({
  caption,
  head,
  rows,
}: Table): Markup => html`<div class="scroll" role="region" tabindex="0" aria-label="${caption}"><table>
<caption>${caption}</caption>
<thead><tr>${head.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
<tbody>${rows.map(
  ([name = '', ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>
`,
)}</tbody></table></div>
`;
