import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { ApiError } from '../api/request.ts';
import { durationText } from '../format/dates.ts';
import { Button } from '../parts/button.tsx';
import { failureText } from '../parts/states.tsx';
import { pageName } from '../state/attention.ts';
import { logIn } from '../state/visitor.ts';
import { texts } from '../texts.ts';
import { Brand } from './brand.tsx';

const words = texts.login;

const reasonFor = (error: unknown): string => {
  if (!(error instanceof ApiError)) return String(error);
  if (error.status === 401) return words.wrong;
  if (error.status !== 429) return failureText(error);
  return error.retryAfterSeconds === undefined
    ? words.throttledAWhile
    : words.throttled(durationText(error.retryAfterSeconds * 1000, 'long'));
};

/** The form that logs in. It stays where it is: afterwards the page that was asked for is shown. */
export const Login = () => {
  const reason = useSignal('');
  const isBusy = useSignal(false);
  const name = useRef<HTMLInputElement>(null);
  const password = useRef<HTMLInputElement>(null);
  useEffect(() => {
    pageName.value = words.title;
    name.current?.focus();
  }, []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (isBusy.value) return;
    isBusy.value = true;
    reason.value = '';
    try {
      await logIn(name.current?.value ?? '', password.current?.value ?? '');
    } catch (error) {
      reason.value = reasonFor(error);
      password.current?.focus();
      password.current?.select();
    } finally {
      isBusy.value = false;
    }
  };
  return (
    <main class="alone">
      <form class="card login" onSubmit={(event) => void submit(event)}>
        <Brand />
        <h1>{words.title}</h1>
        <label class="field">
          <span>{words.name}</span>
          <input ref={name} name="username" autoComplete="username" autoCapitalize="none" spellcheck={false} required />
        </label>
        <label class="field">
          <span>{words.password}</span>
          <input
            ref={password}
            name="password"
            type="password"
            autoComplete="current-password"
            aria-describedby="login-reason"
            required
          />
        </label>
        <p id="login-reason" class="bad-text form-reason" role="alert">
          {reason}
        </p>
        <Button kind="primary" type="submit" isBusy={isBusy.value}>
          {words.submit}
        </Button>
      </form>
    </main>
  );
};
