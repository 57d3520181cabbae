import { signal } from '@preact/signals';
import { ApiError } from '../../api/request.ts';
import type { CheckResult, ModerationState } from '../../api/types.ts';
import { plainLine } from '../../format/hostile.ts';
import { Button } from '../../parts/button.tsx';
import { Failure } from '../../parts/states.tsx';
import { api, mayDecide } from '../../state/visitor.ts';
import { texts } from '../../texts.ts';
import { CheckVerdict } from './verdict.tsx';

const words = texts.moderation.playground;

const LONGEST_TEXT = 1_000_000;

const model = signal('');
const policy = signal('');
const input = signal('');
const result = signal<CheckResult | undefined>(undefined);
const failure = signal<ApiError | undefined>(undefined);
const isRunning = signal(false);

/** A verdict stands below exactly what it was made of: it goes with the first change of that. */
const forget = (): void => {
  result.value = undefined;
  failure.value = undefined;
};

const check = async (state: ModerationState): Promise<void> => {
  if (isRunning.peek() || input.peek() === '') return;
  isRunning.value = true;
  forget();
  try {
    result.value = await api.send<CheckResult>('POST', '/api/check', {
      model: model.peek() || (state.aliases[0]?.alias ?? ''),
      input: input.peek(),
      ...(policy.peek() === '' ? {} : { policy: policy.peek() }),
    });
  } catch (error) {
    failure.value = error instanceof ApiError ? error : new ApiError(0, String(error));
  }
  isRunning.value = false;
};

const Choices = ({ state }: { readonly state: ModerationState }) => (
  <div class="playground-choices">
    <label class="field">
      <span>{words.model}</span>
      <select
        value={model.value || (state.aliases[0]?.alias ?? '')}
        onChange={(event) => {
          model.value = event.currentTarget.value;
          forget();
        }}
      >
        {state.aliases.map(({ alias }) => (
          <option key={alias} value={alias}>
            {plainLine(alias, 80)}
          </option>
        ))}
      </select>
    </label>
    <label class="field">
      <span>{words.policy}</span>
      <select
        value={policy.value}
        onChange={(event) => {
          policy.value = event.currentTarget.value;
          forget();
        }}
      >
        <option value="">{words.ownPolicy}</option>
        {state.policies.map(({ version }) => (
          <option key={version} value={version}>
            {version}
          </option>
        ))}
      </select>
    </label>
  </div>
);

/** Tries a text: what the judge makes of it, and what it was given to read. */
export const Playground = ({ state }: { readonly state: ModerationState }) => (
  <section class="card playground" aria-labelledby="playground-title">
    <h2 id="playground-title">{words.title}</h2>
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        void check(state);
      }}
    >
      <Choices state={state} />
      <label class="field">
        <span>{words.text}</span>
        <textarea
          rows={4}
          maxLength={LONGEST_TEXT}
          dir="auto"
          spellcheck={false}
          value={input.value}
          aria-describedby="playground-hint"
          onInput={(event) => {
            input.value = event.currentTarget.value;
            forget();
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) void check(state);
          }}
        />
      </label>
      <div class="playground-foot">
        <p id="playground-hint" class="muted">
          {mayDecide.value ? words.hint : words.mayNot}
        </p>
        <Button
          kind="primary"
          type="submit"
          isBusy={isRunning.value}
          isDisabled={input.value === '' || !mayDecide.value}
        >
          {words.check}
        </Button>
      </div>
    </form>
    {failure.value === undefined ? null : <Failure failure={failure.value} />}
    <div aria-live="polite">{result.value === undefined ? null : <CheckVerdict result={result.value} />}</div>
  </section>
);
