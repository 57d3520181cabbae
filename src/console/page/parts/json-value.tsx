import { useSignal } from '@preact/signals';
import { countText } from '../format/numbers.ts';
import { texts } from '../texts.ts';
import { SafeLine, SafeText } from './safe-text.tsx';

const FIRST_ENTRIES = 30;
const MORE_ENTRIES = 100;
const DEEPEST = 12;

const Plain = ({ value }: { readonly value: unknown }) => {
  if (typeof value === 'string') return <SafeText text={value} />;
  if (typeof value === 'boolean') return <code>{value ? 'true' : 'false'}</code>;
  return <code>{String(value)}</code>;
};

const NAME_CHARS = 120;

const Name = ({ name }: { readonly name: string }) =>
  name.length > NAME_CHARS ? <SafeText text={name} foldedChars={NAME_CHARS} /> : <SafeLine text={name} />;

/** Whether a value stands beside its name: what holds others stands below it. */
const isShortValue = (value: unknown): boolean =>
  typeof value !== 'object' || value === null || Object.keys(value).length === 0;

/** What is nested in thousands of levels cannot be written. */
const writtenJson = (value: unknown): string => {
  try {
    return JSON.stringify(value, null, 2);
  } catch {
    return texts.common.tooDeep;
  }
};

/** A JSON value that a person can read: names and values in full, long ones folded. Nothing of it is left out unsaid. */
export const JsonValue = ({ value, depth = 0 }: { readonly value: unknown; readonly depth?: number }) => {
  const limit = useSignal(FIRST_ENTRIES);
  if (typeof value !== 'object' || value === null) return <Plain value={value} />;
  if (depth >= DEEPEST) return <SafeText text={writtenJson(value)} isCode />;
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return <code>{isList ? '[]' : '{}'}</code>;
  const hidden = entries.length - limit.value;
  return (
    <>
      <dl class={`json${depth > 0 ? ' nested' : ''}`}>
        {entries.slice(0, limit.value).map(([name, inner]) => (
          <div key={name} class={`json-entry${isShortValue(inner) ? '' : ' holds'}`}>
            <dt>{isList ? countText(Number(name) + 1) : <Name name={name} />}</dt>
            <dd>
              <JsonValue value={inner} depth={depth + 1} />
            </dd>
          </div>
        ))}
      </dl>
      {hidden > 0 ? (
        <button
          type="button"
          class="link"
          onClick={() => {
            limit.value += MORE_ENTRIES;
          }}
        >
          {texts.common.showAll(texts.common.entries(Math.min(hidden, MORE_ENTRIES)))}
        </button>
      ) : null}
    </>
  );
};
