import type { ComponentChildren } from 'preact';
import { ApiError, NOT_THE_CONSOLE } from '../api/request.ts';
import { plainLine } from '../format/hostile.ts';
import type { Resource } from '../state/resource.ts';
import { showToast } from '../state/toasts.ts';
import { texts } from '../texts.ts';
import { Button } from './button.tsx';
import { Icon } from './icon.tsx';

/** Something is on its way. It shows only after a moment, so that a quick answer makes nothing flicker. */
export const Loading = () => (
  <div class="state loading" role="status">
    <span class="spinner" aria-hidden="true" />
    {texts.states.loading}
  </div>
);

type EmptyProps = { readonly title: string; readonly hint?: string; readonly children?: ComponentChildren };

/** There is nothing to show, and why that may be well. */
export const Empty = ({ title, hint, children }: EmptyProps) => (
  <div class="state empty">
    <p class="state-title">{title}</p>
    {hint === undefined ? null : <p class="muted">{hint}</p>}
    {children}
  </div>
);

/** What a failed call means to the visitor. The server's own sentence goes before ours. */
export const failureText = (failure: ApiError): string => {
  if (failure.message !== '') return plainLine(failure.message, 400);
  if (failure.code === NOT_THE_CONSOLE) return texts.states.notTheConsole;
  // The console's own failures have a message: without one, it was a proxy that got no answer.
  if ([0, 502, 503, 504].includes(failure.status)) return texts.states.noAnswer;
  if (failure.status === 403) return texts.states.forbidden;
  if (failure.status === 404) return texts.states.notFound;
  if (failure.status === 429) return texts.states.throttled;
  return texts.states.serverFailed(failure.status);
};

/** Shows a notice of what a failed call means. */
export const showFailure = (error: unknown): void =>
  showToast(error instanceof ApiError ? failureText(error) : String(error), 'bad');

type FailureProps = { readonly failure: ApiError; readonly onRetry?: () => void };

/** A call that failed, with a button that tries it again. */
export const Failure = ({ failure, onRetry }: FailureProps) => (
  <div class="state failure" role="alert">
    <Icon name="warning" />
    <p>{failureText(failure)}</p>
    {onRetry === undefined ? null : (
      <Button isSmall onClick={onRetry}>
        {texts.states.retry}
      </Button>
    )}
  </div>
);

type LoadedProps<Value> = {
  readonly resource: Resource<Value>;
  readonly children: (value: Value) => ComponentChildren;
};

/** Shows a resource: its value, above it that a newer one failed, or that it is loading. */
export const Loaded = <Value,>({ resource, children }: LoadedProps<Value>) => {
  const value = resource.value.value;
  const failure = resource.failure.value;
  const retry = () => void resource.load();
  return (
    <>
      {failure === undefined ? null : <Failure failure={failure} onRetry={retry} />}
      {value === undefined ? failure === undefined ? <Loading /> : null : children(value)}
    </>
  );
};
