import { useSignal } from '@preact/signals';
import { firstPart, textRuns } from '../format/hostile.ts';
import { countText } from '../format/numbers.ts';
import { texts } from '../texts.ts';

const Runs = ({ text }: { readonly text: string }) => (
  <>
    {textRuns(text).map((run, index) =>
      run.kind === 'plain' ? (
        run.text
      ) : (
        <span
          key={index}
          class="hidden-character"
          role="img"
          aria-label={texts.common.hiddenCharacter(run.name, run.meaning, run.count)}
        >
          {run.name}
          {run.count > 1 ? `×${run.count}` : ''}
        </span>
      ),
    )}
  </>
);

const LINE_LIMIT = 300;

/**
 * A short text of users, models or servers in one line, as a title is. It cannot reorder what stands beside it, its hidden
 * characters are seen, and what is too long is cut.
 */
export const SafeLine = ({ text, limit = LINE_LIMIT }: { readonly text: string; readonly limit?: number }) => {
  const shown = firstPart(text, limit);
  return (
    <bdi class="safe-line" title={text.length > limit ? texts.common.characters(text.length) : undefined}>
      <Runs text={shown} />
      {shown.length < text.length ? '…' : ''}
    </bdi>
  );
};

const FOLDED_CHARS = 1200;
const MORE_CHARS = 20_000;

type SafeTextProps = { readonly text: string; readonly isCode?: boolean; readonly foldedChars?: number };

/** A text of any length with its line breaks. A long one is folded, and unfolds in steps that a browser can lay out. */
export const SafeText = ({ text, isCode = false, foldedChars = FOLDED_CHARS }: SafeTextProps) => {
  const limit = useSignal(foldedChars);
  const shown = firstPart(text, limit.value);
  const hidden = text.length - shown.length;
  return (
    <div class={`safe-text${isCode ? ' code' : ''}`}>
      <div class="safe-text-body" dir="auto">
        {text === '' ? <span class="muted">{texts.common.emptyText}</span> : <Runs text={shown} />}
        {hidden > 0 ? '…' : ''}
      </div>
      {hidden > 0 || limit.value > foldedChars ? (
        <p class="fold">
          {hidden > 0 ? (
            <button
              type="button"
              class="link"
              onClick={() => {
                limit.value += MORE_CHARS;
              }}
            >
              {texts.common.showAll(countText(Math.min(hidden, MORE_CHARS)))}
            </button>
          ) : null}
          {limit.value > foldedChars ? (
            <button
              type="button"
              class="link"
              onClick={() => {
                limit.value = foldedChars;
              }}
            >
              {texts.common.showLess}
            </button>
          ) : null}
          <span class="muted">{texts.common.characters(text.length)}</span>
        </p>
      ) : null}
    </div>
  );
};
